import { expect, test } from 'vitest'
import { defaultWire } from '#src/values/wire.ts'
import { maskFields, maskRecord } from '#src/web/console/payload/mask.ts'
import { buildTree } from '#src/web/console/payload/tree.ts'

const wire = defaultWire.appraisal

const body = [
  {
    EvalID: 1001,
    UpdatedAt: 'never',
    CustomerName: 'Pat Example',
    CustomerPhone: '+61 400 000 001',
    CustomerEmail: null,
    Notes: 'Pat wants a call',
    customFields: { colour: { name: 'Colour', type: 'text', value: 'Pat is colour-blind' } },
    Odometer: 120_000,
    Photos: [{ id: 3, url: 'https://cdn.example.com/3.jpg?X-Amz-Signature=abc&Expires=1' }],
    Sold: { Buyer: { name: 'Pat Example' }, text: 'write to pat@example.com today' },
    extra: ['0400 000 001', '2026-03-09T01:00:00Z', '7F3A-9C01'],
    seenBy: { 'pat@example.com': 'noon', '+61 400 000 001': { at: 'noon' }, '2026-03-09': 1 },
  },
]

test('customers are hidden by the path of the config, by name and by form', () => {
  const text = JSON.stringify(maskFields(body, wire))

  expect(text).not.toMatch(/Pat|pat@|0400|\+61|Signature|Expires/)
  expect(JSON.parse(text)).toEqual([
    {
      ...{ EvalID: 1001, UpdatedAt: 'never', Odometer: 120_000 },
      CustomerName: 'hidden',
      CustomerPhone: 'hidden',
      CustomerEmail: null,
      Notes: 'hidden',
      customFields: { colour: 'hidden' },
      Photos: [{ id: 3, url: 'https://cdn.example.com/3.jpg' }],
      Sold: { Buyer: 'hidden', text: 'hidden' },
      extra: ['hidden', '2026-03-09T01:00:00Z', '7F3A-9C01'],
      seenBy: { 'hidden 1': 'noon', 'hidden 2': { at: 'noon' }, '2026-03-09': 1 },
    },
  ])
})

test('a path that the config names is hidden wherever the record is', () => {
  const evaluation = { ...wire.evaluation, customerName: ['Seen.By', 'Klant'] }

  const masked = maskFields(
    { item: { Klant: 'Pat', Seen: { By: 'Pat', At: 'noon' } } },
    { ...wire, evaluation },
  )

  expect(JSON.stringify(masked)).toBe(
    '{"item":{"Klant":"hidden","Seen":{"By":"hidden","At":"noon"}}}',
  )
})

test('the tree marks what is wrong, and leaves out what is too much', () => {
  const issues = [
    { path: 'UpdatedAt', message: 'is malformed' },
    { path: 'Photos.0.id', message: 'is missing' },
  ]
  const { root, left } = buildTree(maskFields(body, wire), issues)
  const many = buildTree(
    Array.from({ length: 1000 }, () => ({ a: 1 })),
    [],
  )

  const [item] = root.children!
  const named = (name: string) => item!.children!.find((child) => child.name === name)!
  expect(named('UpdatedAt')).toEqual({
    name: 'UpdatedAt',
    kind: 'text',
    value: 'never',
    issues: ['is malformed'],
  })
  expect(named('CustomerName')).toEqual({ name: 'CustomerName', kind: 'hidden', isHidden: true })
  expect(named('Photos').children![0]!.children![0]).toMatchObject({ issues: ['is missing'] })
  expect(left).toBe(0)
  expect(many.left).toBeGreaterThan(500)
})

test('a text that names the customer is hidden wherever it is', () => {
  const record = {
    EvalID: 1001,
    CustomerName: 'Pat Example',
    Remark: 'sold to Pat Example',
    Trim: 'GX',
  }

  const masked = maskRecord([record], { stream: 'evaluations', naturalKey: '1001' }, wire)
  const other = maskRecord({ price: 1 }, { stream: 'pricing', naturalKey: '1001' }, wire)

  const watch = maskRecord(
    { WatchStatus: 'watching', keeper: 'Pat' },
    { stream: 'vehicle-checks', naturalKey: '1001/ppsrwatch' },
    wire,
  )

  expect(JSON.stringify([masked, watch])).not.toContain('Pat')
  expect(watch).toMatchObject({ WatchStatus: 'watching' })
  expect(JSON.stringify(masked)).toContain('"Trim":"GX"')
  expect(other).toEqual({ price: 1 })
})

test('a time that may be a date of birth is hidden at a path that nothing names, and shown where it is documented', () => {
  const record = {
    ...{ EvalID: 1001, CreatedAt: '1999-12-31T00:00:00Z' },
    ...{ Dob: '1951-07-09', Party: { Born: '1988-02-29 00:00:00' } },
    ...{ Inspected: '2026-03-01', Seen: '2010-01-01T00:00:00Z' },
  }

  const masked = maskRecord([record], { stream: 'evaluations', naturalKey: '1001' }, wire)

  expect(JSON.parse(JSON.stringify(masked))).toEqual([
    { ...record, Dob: 'hidden', Party: { Born: 'hidden' } },
  ])
})

test('an item of a list without an id shows no text that nothing names', () => {
  const item = { EntryDate: '2026-03-09T01:00:00Z', Client: 'Pat Example', Stage: 'NEW' }

  const masked = maskRecord(item, { stream: 'evaluations', naturalKey: 'item 7f3a' }, wire)
  const check = maskRecord(
    { WatchStatus: 'watching', keeper: 'Pat' },
    { stream: 'vehicle-checks', naturalKey: 'unknown' },
    wire,
  )

  expect(JSON.parse(JSON.stringify([masked, check]))).toEqual([
    { ...item, Client: 'hidden' },
    { WatchStatus: 'watching', keeper: 'hidden' },
  ])
})
