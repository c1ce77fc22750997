import { openLog } from '#src/log.ts'
import type { CheckDraft } from '#src/sandbox/checks.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { users } from '#src/streams/users/users.ts'
import { vehicleChecks } from '#src/streams/vehicle-checks/vehicle-checks.ts'
import { type Server, startServer } from '#src/web/serve/server.ts'
import type { EvaluationDraft } from '../../support/build-world.ts'
import { type Fixture, openSecondContext } from '../../support/fixture.ts'
import { pricedFixture } from '../../support/pricing-fixture.ts'

export const token = 'canary-token-0123456789'
export const vin = 'JTMDFREV90D123456'
export const paths = { ppsr: '/getpastppsrsearch', car_history: '/getpastcarhistory' } as const

/** A fixture whose nights read evaluations and checks. */
export async function checkedFixture(
  drafts: readonly EvaluationDraft[],
  options: NonNullable<Parameters<typeof pricedFixture>[1]> = {},
): Promise<Fixture> {
  return await pricedFixture(drafts, { streams: [users, evaluations, vehicleChecks], ...options })
}

/** Adds a check of evaluation 1001 that was made yesterday, and returns its id. */
export function addCheck({ sandbox }: Fixture, draft: Partial<CheckDraft> = {}): string {
  const made = sandbox.checks.add({
    kind: 'ppsr',
    groupId: 'group-1',
    rooftopUid: 'rooftop-1',
    evalId: 1001,
    vin,
    searchedAt: new Date('2026-03-09T23:00:00Z'),
    ...draft,
  })
  return String(made.id)
}

/** A server on the fixture, and what it has logged so far, a line each. */
export interface TestServer extends AsyncDisposable {
  readonly url: string
  readonly logged: string[]
  /** One click; redirects are not followed. */
  click(path: string, more?: RequestInit): Promise<Response>
}

/** Serves the fixture; `alone` with connections, clock and memory of its own, as another process has. */
export async function serveFixture(fixture: Fixture, { alone = false } = {}): Promise<TestServer> {
  const logged: string[] = []
  // Without secrets to scrub: what must not be logged must not come as far as the scrubber.
  const log = openLog({
    level: 'debug',
    human: false,
    secrets: [],
    write: (line) => void logged.push(line),
  })
  const context = alone ? await openSecondContext(fixture) : fixture.context
  const server: Server = await startServer(
    { ...context, log },
    { host: '127.0.0.1', port: 0, token },
  )
  return {
    url: server.url,
    logged,
    click: (path, more = {}) => fetch(`${server.url}${path}`, { redirect: 'manual', ...more }),
    [Symbol.asyncDispose]: async () => {
      await server.close()
      if (alone) await context[Symbol.asyncDispose]()
    },
  }
}

/** The address of a permalink with the token. */
export function permalink(kind: string, id: string, more = ''): string {
  return `/links/${kind}/${id}?token=${token}${more}`
}

/** What a redirect leads to. */
export async function follow(answer: Response): Promise<{ status: number; start: string }> {
  const opened = await fetch(answer.headers.get('location') ?? 'about:blank')
  return { status: opened.status, start: (await opened.text()).slice(0, 5) }
}
