import { startSandbox } from '#src/sandbox/server.ts'
import { truthAt } from '../../support/truth.ts'
import { answerMessages } from './bench-process.ts'

/** The address and headers of a sandbox, and the ids that its key may read. */
export interface SandboxReady {
  readonly url: string
  readonly headers: Record<string, string>
  readonly evalIds: readonly number[]
}

const now = new Date('2026-06-30T00:00:00Z')

/** A sandbox with 2,000 evaluations. */
async function start(): Promise<SandboxReady> {
  const { baseUrl, world } = await startSandbox({ evaluations: 2000, now })
  const key = world.keys.find(({ linkedUserId }) => linkedUserId !== null)!
  const [uid = ''] = key.rooftopUids
  const group = world.rooftop(uid)?.groupId
  const evalIds = truthAt(world, now)
    .filter(({ rooftopUid }) => world.rooftop(rooftopUid)?.groupId === group)
    .map(({ evalId }) => evalId)
  const headers = { authorization: key.value, 'x-dealer-id': uid }
  return { url: `${baseUrl}/geteval`, headers, evalIds }
}

answerMessages(start)
