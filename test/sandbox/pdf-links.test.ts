import { expect, test } from 'vitest'
import type { CheckKind } from '#src/sandbox/checks.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { pdfLinkLifeMs, signLink } from '#src/sandbox/signed-link.ts'
import { anEvaluation, worldOf } from '../support/build-world.ts'
import { ask } from './ask.ts'

const now = new Date('2026-03-10T00:00:00Z')

/** A sandbox with one check, and the link that its past-checks operation gives. */
async function startWithCheck(kind: CheckKind = 'ppsr') {
  const clock = new VirtualClock({ start: now, frozen: true })
  const sandbox = await startSandbox({ world: worldOf({ evaluations: [anEvaluation()] }), clock })
  const subject = { groupId: 'group-1', rooftopUid: 'rooftop-1', evalId: 1001 }
  const searchedAt = new Date('2026-03-09T00:00:00Z')
  sandbox.checks.add({ kind, ...subject, vin: 'JTMDFREV90D123456', searchedAt })
  const path = kind === 'ppsr' ? '/getpastppsrsearch' : '/getpastcarhistory'
  const link = async () => {
    const { json } = await ask(sandbox, path, { evalid: 1001 })
    return (json as { PdfUrl: string }[])[0]!.PdfUrl
  }
  return { sandbox, link, [Symbol.asyncDispose]: () => sandbox.close() }
}

test.each(['ppsr', 'car_history'] as const)(
  'the link of a %s check leads to a PDF',
  async (kind) => {
    await using one = await startWithCheck(kind)
    await using same = await startWithCheck(kind)

    const response = await fetch(await one.link())
    const bytes = Buffer.from(await response.arrayBuffer())
    const again = Buffer.from(await (await fetch(await same.link())).arrayBuffer())

    expect(response.headers.get('content-type')).toBe('application/pdf')
    expect(bytes.toString('latin1')).toMatch(/^%PDF-1\.\d[\s\S]*%%EOF\s*$/)
    expect(again).toEqual(bytes)
  },
)

test('a link lives exactly one week, and the next answer signs a fresh one', async () => {
  await using one = await startWithCheck()
  const old = await one.link()

  one.sandbox.clock.advance(pdfLinkLifeMs - 1)
  expect((await fetch(old)).status).toBe(200)
  one.sandbox.clock.advance(1)
  const expired = await fetch(old)
  expect(expired.status).toBe(403)
  expect(await expired.json()).toEqual({ error: expect.any(String) })
  expect((await fetch(await one.link())).status).toBe(200)
})

test('a link that was changed anywhere is a 403', async () => {
  await using one = await startWithCheck()
  const link = await one.link()
  const statusOf = async (url: string) => (await fetch(url)).status

  expect(await statusOf(link.replace(/expires=(\d)/, 'expires=9$1'))).toBe(403)
  expect(await statusOf(link.replace('/ppsr/', '/car_history/'))).toBe(403)
  expect(await statusOf(link.replace(/signature=.*/, 'signature='))).toBe(403)
  expect(await statusOf(link.replace(/\?.*/, ''))).toBe(403)
})

test('a valid link to an unknown check is a 404', async () => {
  await using one = await startWithCheck()
  const origin = new URL(await one.link()).origin
  const link = signLink(origin, '/pdf/ppsr/unknown.pdf', now.getTime() + 1000)

  const response = await fetch(link)
  expect(response.status).toBe(404)
  expect(await response.json()).toEqual({ error: expect.any(String) })
})
