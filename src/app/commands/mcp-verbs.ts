import { Writable } from 'node:stream'
import { z } from 'zod'
import { errorText, UsageError } from '../../errors.ts'
import { erasedMark } from '../../privacy/screen/search-terms.ts'
import { isTooDeep } from '../../values/json-depth.ts'
import { runStates } from '../../values/names.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import { maskFields, maskRecord } from '../../web/console/payload/mask.ts'
import { matchRooftop } from '../config/choose-rooftops.ts'
import type { Config } from '../config/read.ts'
import { argumentText, defineTool, type Tool } from '../mcp/tool.ts'
import type { RunCommand } from './command.ts'
import { quarantine } from './quarantine.ts'
import { list, show } from './runs.ts'
import { Session } from './session.ts'
import { status } from './status.ts'
import { why } from './why.ts'

/** A session whose connections start read-only, and which opens neither the services nor the work queue. */
export class ReadOnlySession extends Session {
  override async warehouse(): Promise<Warehouse> {
    return await super.warehouse('read', { isReadOnly: true, max: 4 })
  }

  override context(): Promise<never> {
    return Promise.reject(new Error('a read-only session runs no work'))
  }
}

const id = (what: string) => z.int().positive().describe(what)
const output = {
  document: z.unknown().describe('What the command prints with --json; customers are hidden'),
  truncated: z.boolean().describe('The list is longer: the limit cut it off'),
}

/** The tools of an operator: commands that only read, with the document that they print with --json. */
export function verbTools(session: Session): Tool[] {
  const login = 'operator'
  const read = async (...verb: Verb) => {
    const { document, config } = await runForDocument(session, verb)
    return { document: maskFields(document, config.wire.appraisal), config }
  }
  return [
    defineTool({
      ...{ login, name: 'status', title: 'Is everything fresh and complete?' },
      description:
        'As "forecourt status": every stream of every rooftop with what it misses and why, jobs, keys, links, alerts, spend.',
      input: { rooftop: argumentText(200).optional().describe('Only this one: uid or name') },
      output,
      read: async ({ rooftop }) => {
        const { document, config } = await read(status, {}, [])
        const all = document as { readonly rooftops: Readonly<Record<string, unknown>> }
        if (rooftop === undefined) return answer(all, config)
        const { uid } = matchRooftop(rooftop, config.rooftops, 'in the config')
        return answer({ ...all, rooftops: { [uid]: all.rooftops[uid] } }, config)
      },
    }),
    defineTool({
      ...{ login, name: 'runs', title: 'What ran, and what came of it?' },
      description: 'As "forecourt runs": the newest runs; with runId all of one run.',
      input: {
        runId: id('All of this run').optional(),
        status: z.enum(runStates).optional().describe('Only runs that ended so'),
        limit: z.int().min(1).max(100).default(20).describe('This many runs'),
      },
      output,
      read: async ({ runId, status: ended, limit }) => {
        const none = { rooftop: [], command: [], stream: [] }
        const options = { ...none, limit, status: ended === undefined ? [] : [ended] }
        const { document, config } =
          runId === undefined
            ? await read(list, options, [])
            : await read(show, none, [String(runId)])
        return answer(document, config)
      },
    }),
    defineTool({
      ...{ login, name: 'why', title: 'Where does a row come from?' },
      description:
        'As "forecourt why": row, payloads, request, window and run of an evaluation, when it was read and when it is read again.',
      input: { evalId: id('EvalID of the appraisal service') },
      output,
      read: async ({ evalId }) => {
        const { document, config } = await read(why, {}, [String(evalId)])
        return answer(document, config)
      },
    }),
    defineTool({
      ...{ login, name: 'quarantine', title: 'Which records did not fit, and why?' },
      description:
        'As "forecourt quarantine list"; with an id as "quarantine show", with what is not a person in its payload.',
      input: { id: id('Only this one, with its payload').optional() },
      output,
      read: async ({ id: one }) => {
        if (one === undefined) {
          const { document, config } = await read(quarantine, {}, ['list', []])
          return answer(document, config)
        }
        const verb: Verb = [quarantine, {}, ['show', [String(one)]]]
        const { document, config } = await runForDocument(session, verb)
        const entry = document as QuarantinedRecord
        const shown = { ...entry, payload: maskPayload(entry, config) }
        return answer(maskFields(shown, config.wire.appraisal), config)
      },
    }),
  ]
}

type Verb = readonly [RunCommand, ...Tail<Parameters<RunCommand>>]
type Tail<All extends readonly unknown[]> = All extends [unknown, ...infer Rest] ? Rest : never

/** Runs a command in a session of its own and gives what it prints with --json. */
async function runForDocument({ io, globals }: Session, [command, options, args]: Verb) {
  let text = ''
  const stdout = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk)
      done()
    },
  })
  await using readOnly = new ReadOnlySession({ ...io, stdout }, { ...globals, json: true })
  try {
    const { config } = readOnly
    await command(readOnly, options, args)
    return { document: JSON.parse(text) as unknown, config }
  } catch (error) {
    const { hide = (message: string) => message } = readOnly.io
    throw new UsageError(hide(errorText(error)), { cause: error })
  }
}

interface QuarantinedRecord {
  readonly stream: string
  readonly naturalKey: string
  readonly payload: string | null
}

/** The payload without what is a person's; hidden where nothing says which part of it is. */
function maskPayload({ payload, ...name }: QuarantinedRecord, { wire }: Config): string | null {
  if (payload === null || payload === erasedMark) return payload
  try {
    const body: unknown = JSON.parse(payload)
    if (!isTooDeep(body)) return JSON.stringify(maskRecord(body, name, wire.appraisal))
  } catch {
    // Not JSON.
  }
  return 'hidden'
}

/** A list is cut off at the limit. UsageError where something else is longer. */
function answer(document: unknown, { mcp: { maxKilobytes } }: Config) {
  const maxBytes = maxKilobytes * 1000
  const items = Array.isArray(document) ? document : null
  let [bytes, count] = [0, 0]
  for (const item of items ?? [document]) {
    bytes += Buffer.byteLength(JSON.stringify(item))
    if (bytes > maxBytes) break
    count += 1
  }
  if (items === null && count === 0)
    throw new UsageError(
      `The answer has ${Math.ceil(bytes / 1000)} kB, more than mcp.maxKilobytes (${maxKilobytes}): ask for less, for example for one rooftop.`,
    )
  const truncated = items !== null && count < items.length
  // What is masked becomes text when it is written.
  const shown: unknown = JSON.parse(JSON.stringify(items?.slice(0, count) ?? document))
  return { content: { document: shown, truncated }, facts: { bytes, truncated } }
}
