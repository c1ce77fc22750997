import { expect, test } from 'vitest'
import { openScheduleFixture } from '../../app/scheduler/schedule-fixture.ts'
import { someOf } from '../../support/cases.ts'
import { type Child, until } from '../../support/child.ts'
import { seriesOf } from './exposition.ts'

const settings = { links: { token: 'a-token-of-the-tests' } }
const openSmallFixture = async () =>
  await openScheduleFixture({ hourly: { schedule: '0 * * * *' } }, settings)

/** Waits for `pattern` in the log of a process and returns its first group; an error when the process ends before. */
async function waitForLog(child: Child, pattern: RegExp): Promise<string> {
  const find = () => pattern.exec(child.stderr())?.[1]
  const ended = child.ended.then(({ stderr }) => {
    throw new Error(stderr)
  })
  await Promise.race([until(() => find() !== undefined), ended])
  ended.catch(() => undefined)
  return find()!
}

const operationsUrl = /operations on (http:\/\/[\d.:]+): /
const status = async (url: string) => (await fetch(url)).status

for (const command of someOf(['schedule', 'worker'], 1))
  test(`${command} answers for its health and its metrics on the port that it is given, until it is stopped`, async () => {
    await using fixture = await openSmallFixture()
    await fixture.run(['migrate'])
    const child = fixture.start([command, '--operations-port', '0'])

    const url = await waitForLog(child, operationsUrl)
    await until(async () => (await status(`${url}/readyz`)) === 200)
    const alive = await status(`${url}/healthz`)
    const metrics = await (await fetch(`${url}/metrics`)).text()
    child.kill('SIGTERM')
    const { code } = await child.ended

    expect({ alive, code }).toEqual({ alive: 200, code: 143 })
    expect(seriesOf(metrics).get('forecourt_warehouse_up')).toBe(1)
    expect(seriesOf(metrics).get('forecourt_rooftops')).toBe(1)
  })

test('serve answers for its health on its own port, and for its metrics on the operations port alone', {
  tags: 'ci',
}, async () => {
  await using fixture = await openSmallFixture()
  const serve = ['serve', '--port', '0', '--log-level', 'debug']
  const [open, apart] = [fixture.start(serve), fixture.start([...serve, '--operations-port', '0'])]
  const [openUrl, apartUrl] = await Promise.all(
    [open, apart].map((child) => waitForLog(child, /listening on (http:\/\/[\d.:]+)/)),
  )
  const operations = await waitForLog(apart, operationsUrl)

  const paths = ['/health', '/healthz', '/readyz', '/metrics']
  const statuses = async (url: string) =>
    await Promise.all(paths.map((path) => status(`${url}${path}`)))
  const answers = {
    open: await statuses(openUrl!),
    apart: await statuses(apartUrl!),
    operations: await statuses(operations),
  }
  for (const child of [open, apart]) child.kill('SIGTERM')
  const ends = await Promise.all([open.ended, apart.ended])

  expect(answers).toEqual({
    open: [200, 200, 200, 404],
    apart: [200, 200, 200, 404],
    operations: [404, 200, 200, 200],
  })
  expect(ends.map(({ code }) => code)).toEqual([143, 143])
})

test('a port that another process has is exit 2, and nothing is started', {
  tags: 'ci',
}, async () => {
  await using fixture = await openSmallFixture()
  const first = fixture.start(['schedule', '--operations-port', '0'])
  const { port } = new URL(await waitForLog(first, operationsUrl))

  const second = fixture.start(['schedule', '--operations-port', port])
  const odd = fixture.start(['schedule', '--operations-port', 'http'])
  const ends = await Promise.all([second.ended, odd.ended])
  first.kill('SIGTERM')
  await first.ended

  expect(ends.map(({ code }) => code)).toEqual([2, 2])
  expect(ends[0]!.stderr).toMatch(/Cannot listen on port \d+ of 127\.0\.0\.1 for operations: /)
  expect(ends[1]!.stderr).toMatch(/--operations-port http must be a whole number/)
})
