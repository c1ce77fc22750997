import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { anEvaluation, aRooftop, worldOf } from '../../support/build-world.ts'
import { configText } from '../../support/child-fixture.ts'
import { runInProcess } from '../../support/cli.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { now, secret } from './webhook-fixture.ts'

const base = 'http://127.0.0.1:4999/webhooks'
type Document = { [name: string]: Document } & Document[] & string & number

/** Two rooftops, and a config with webhooks; `set` replaces it. */
async function openFixture() {
  const rooftops = [aRooftop(), aRooftop({ uid: 'rooftop-2', dealerId: 102 })]
  const world = worldOf({ rooftops, evaluations: [anEvaluation()] })
  const sandbox = await startSandbox({
    world,
    clock: new VirtualClock({ start: now, frozen: true }),
  })
  const database = await createTestDatabase()
  const folder = await temporaryFolder()
  const file = join(folder.path, 'forecourt.yaml')
  const written = JSON.parse(
    configText(sandbox, database.url, { sandbox: { now }, sync: { start: '2026-03-01' } }),
  )
  const set = async (webhooks: object) => {
    const all = { publicUrl: 'http://127.0.0.1:4999', authHeaderValue: secret, ...webhooks }
    await writeFile(file, JSON.stringify({ ...written, webhooks: all }))
  }
  await set({})
  const run = async (...args: string[]) => {
    const ended = await runInProcess(['webhooks', ...args, '--json'], { cwd: folder.path })
    expect(ended.stdout + ended.stderr).not.toContain(secret)
    const document = (ended.stdout === '' ? null : JSON.parse(ended.stdout)) as Document
    return { ...ended, document: document! }
  }
  return {
    sandbox,
    database,
    set,
    run,
    at: (uid: string) =>
      sandbox.webhooks.ofRooftop(uid).map(({ id, event, url }) => ({ id, event, url })),
    [Symbol.asyncDispose]: async () => {
      await sandbox.close()
      await database[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

test('apply subscribes every rooftop with the secret, and a second time finds nothing to do', async () => {
  await using fixture = await openFixture()
  const { sandbox, run, at } = fixture

  const before = await run('plan')
  const applied = await run('apply')
  const after = await run('plan')
  const again = await run('apply')

  expect(before).toMatchObject({ code: 0, document: { drift: true } })
  expect(applied).toMatchObject({ code: 0, stderr: '' })
  expect(applied.document['rooftops']!['rooftop-2']).toEqual({ created: 2, updated: 0, deleted: 0 })
  expect(after.document).toMatchObject({ drift: false })
  expect(again.document['rooftops']!['rooftop-1']).toEqual({ created: 0, updated: 0, deleted: 0 })
  expect(at('rooftop-1')).toEqual([
    { id: 1, event: 'ON_COMPLETE', url: `${base}/ON_COMPLETE/rooftop-1` },
    { id: 2, event: 'ON_EXPORT', url: `${base}/ON_EXPORT/rooftop-1` },
  ])
  const [one] = sandbox.webhooks.ofRooftop('rooftop-2')
  expect(one).toMatchObject({ authHeaderName: 'X-Forecourt-Token', authHeaderValue: secret })
})

test('a changed secret or address, duplicates and obsolete subscriptions are corrected, and others are left alone', async () => {
  await using fixture = await openFixture()
  const { sandbox, set, run, at } = fixture
  const foreign = {
    type: 'eval',
    event: 'ON_COMPLETE',
    url: 'https://other.example/x?key=hush',
  } as const
  const auth = { authHeaderName: null, authHeaderValue: null }
  sandbox.webhooks.add({ rooftopUid: 'rooftop-1', ...foreign, ...auth })
  await run('apply')
  const [, own] = sandbox.webhooks.ofRooftop('rooftop-1')
  sandbox.webhooks.add({ ...own! })
  const rotated = `${secret}-2`
  await set({
    publicUrl: 'http://localhost:5000/webhooks',
    authHeaderValue: rotated,
    events: ['ON_COMPLETE', 'ON_DRIVE_COMPLETED'],
  })

  const planned = (await run('plan')).document['rooftops']!['rooftop-1']!
  const applied = await run('apply')

  expect(planned['foreign']).toEqual([
    { id: 1, type: 'eval', event: 'ON_COMPLETE', url: 'https://other.example/x' },
  ])
  expect(planned['update']![0]!['why']).toMatch(/another address.*has changed/)
  expect(applied.document['rooftops']!['rooftop-1']).toEqual({ created: 1, updated: 1, deleted: 2 })
  const url = 'http://localhost:5000/webhooks'
  expect(at('rooftop-1')).toEqual([
    { id: 1, event: 'ON_COMPLETE', url: foreign.url },
    { id: 2, event: 'ON_COMPLETE', url: `${url}/ON_COMPLETE/rooftop-1` },
    { id: 7, event: 'ON_DRIVE_COMPLETED', url: `${url}/ON_DRIVE_COMPLETED/rooftop-1` },
  ])
  expect(sandbox.webhooks.subscription(2)!.authHeaderValue).toBe(rotated)
  expect((await run('plan')).document['drift']).toBe(false)
})

test('two that apply at once make each subscription once', async () => {
  await using fixture = await openFixture()

  const ended = await Promise.all([
    fixture.run('apply'),
    fixture.run('apply'),
    fixture.run('apply'),
  ])

  expect(ended.map(({ code }) => code)).toEqual([0, 0, 0])
  expect(fixture.at('rooftop-1')).toHaveLength(2)
  expect(fixture.at('rooftop-2')).toHaveLength(2)
})

test('a create whose answer is lost is found in the list and not sent again', {
  tags: 'ci',
}, async () => {
  await using fixture = await openFixture()
  const { sandbox, run, at } = fixture
  // The subscription is made, and the answer does not arrive.
  const path = '/partner/webhooks'
  const rule = sandbox.faults.add({ match: { path, nth: [2] }, fault: { kind: 'truncate' } })

  const { code, document } = await run('apply', '--rooftop', 'rooftop-1')

  expect(rule.hits).toBe(1)
  expect(code).toBe(0)
  expect(at('rooftop-1')).toHaveLength(2)
  expect(document['rooftops']!['rooftop-1']!['created']).toBeLessThanOrEqual(2)
  expect((await run('plan', '--rooftop', 'rooftop-1')).document['drift']).toBe(false)
})

test('delete ends one of ours by its id, and another one only with --foreign', async () => {
  await using fixture = await openFixture()
  const { sandbox, run, at } = fixture
  await run('apply')
  const draft = { rooftopUid: 'rooftop-2', type: 'eval', event: 'ON_EXPORT' } as const
  const auth = { authHeaderName: null, authHeaderValue: null }
  sandbox.webhooks.add({ ...draft, ...auth, url: 'https://other.example/y' })

  expect(await run('delete', '1')).toMatchObject({ code: 0, document: { deleted: true } })
  expect(await run('delete', '1')).toMatchObject({ code: 2 })
  expect(await run('delete', '5')).toMatchObject({ code: 2 })
  expect(await run('delete', '5', '--foreign')).toMatchObject({ code: 0 })
  expect([...at('rooftop-1'), ...at('rooftop-2')].map(({ id }) => id)).toEqual([2, 3, 4])
  const { document } = await run('list')
  expect(document['rooftops']!['rooftop-1']!['subscriptions']).toMatchObject([
    { id: 2, ours: true },
  ])
})

test('an address without TLS, and a missing setting, are exit 2 and send nothing', async () => {
  await using fixture = await openFixture()
  const { sandbox, set, run } = fixture
  await set({ publicUrl: 'http://hooks.example.com' })
  const plain = await run('apply')
  await set({ publicUrl: null })
  const nowhere = await run('plan')
  await set({ authHeaderValue: null })
  const open = await run('apply')

  expect([plain, nowhere, open].map(({ code }) => code)).toEqual([2, 2, 2])
  expect(plain.stderr).toContain('not https')
  expect(nowhere.stderr).toContain('webhooks.publicUrl is not set')
  expect(open.stderr).toContain('webhooks.authHeaderValue is not set')
  expect(sandbox.requests.count('/partner/webhooks')).toBe(0)
})

test('a list that is not at the path of the wire settings changes nothing', async () => {
  await using fixture = await openFixture()
  const { sandbox, run } = fixture
  const fault = { kind: 'status', status: 200, body: { data: [] } } as const
  sandbox.faults.add({ match: { path: '/partner/webhooks', rooftopUid: 'rooftop-1' }, fault })

  const { code, document } = await run('apply')

  expect(code).toBe(1)
  expect(document['rooftops']!['rooftop-1']!['error']).toMatch(
    /wire\.appraisal\.webhook .*"forecourt api webhooks-list --rooftop rooftop-1"/,
  )
  expect(document['rooftops']!['rooftop-2']).toMatchObject({ created: 2 })
  expect(fixture.at('rooftop-1')).toEqual([])
})
