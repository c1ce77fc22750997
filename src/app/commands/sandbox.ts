import { once } from 'node:events'
import { stringify } from 'yaml'
import { UsageError } from '../../errors.ts'
import { type OtherNames, otherNames } from '../../sandbox/other-names.ts'
import { startSandbox } from '../../sandbox/server.ts'
import { isTooDeep, maxJsonDepth } from '../../values/json-depth.ts'
import { shellQuoted } from '../../values/shell.ts'
import { plural } from '../../values/text.ts'
import { allHeldNames } from '../../values/wire.ts'
import type { RunCommand } from './command.ts'
import { wholeNumberOption } from './option-values.ts'
import { readFiles } from './recorded-files.ts'
import { recordedNames } from './recorded-names.ts'
import { sandboxAnchor } from './sandbox-anchor.ts'
import type { Session } from './session.ts'

export const sandbox: RunCommand = async (session, options) => {
  const port = wholeNumberOption('--port', options['port'], 0, 65_534)
  const { host } = options as { host: string }
  const { shown, ...names } = chooseNames(session, options)
  const started = await startSandbox({
    host,
    port,
    seed: wholeNumberOption('--seed', options['seed'], 0, 2 ** 31),
    rooftops: wholeNumberOption('--rooftops', options['rooftops'], 1, 5000),
    evaluations: wholeNumberOption('--evals', options['evals'], 0, 2_000_000),
    now: sandboxAnchor(session.config.homeDir),
    ...names,
  }).catch((cause: Error) => {
    if ((cause.cause as NodeJS.ErrnoException | undefined)?.code !== 'EADDRINUSE') throw cause
    throw new UsageError(cause.message, { cause })
  })
  started.clock.set(new Date())
  // As `init` writes it: what is read by names that are not proved stays empty.
  const isStrange = options['names'] !== undefined || options['answers'] !== undefined
  const config = {
    ...started.clientConfig(),
    ...(isStrange && { wire: { appraisal: { held: allHeldNames } } }),
  }
  // Its keys are made up and meant to be copied, even when the config here holds them as secrets.
  const page = started.baseUrl.replace(/v1$/, '')
  session.resultWithSecrets({ baseUrl: started.baseUrl, page, ...config }, () => [
    `Sandbox listens on ${started.baseUrl}; stop it with Ctrl-C.`,
    ...shown,
    `Its page, ${page} , shows its keys and controls; ${page}docs has every operation. A config that fits:`,
    '',
    stringify(config).trimEnd(),
  ])
  if (!session.io.signal.aborted) await once(session.io.signal, 'abort')
  await started.close()
  return 0
}

/** The names of the service, and what to say about them. */
function chooseNames(
  session: Session,
  { names, answers: folder }: Readonly<Record<string, unknown>>,
): Partial<OtherNames> & { readonly shown: readonly string[] } {
  const { config } = session
  if (names !== undefined && folder !== undefined)
    throw new UsageError(
      '--names and --answers exclude each other: both say how the service answers.',
    )
  if (names !== undefined)
    return { ...otherNames(wholeNumberOption('--names', names, 0, 2 ** 31)), shown: [] }
  if (folder === undefined) return { wire: config.wire, shown: [] }
  const { answers, from } = readFiles([folder as string], config)
  if (answers.length === 0)
    throw new UsageError(
      `${folder as string} has no answer: name a folder that "forecourt wire record" wrote.`,
    )
  if (answers.some(({ body }) => isTooDeep(body)))
    throw new UsageError(
      `${folder as string} has an answer that is nested more than ${maxJsonDepth} deep.`,
    )
  const { wire, decoys, settings, examined } = recordedNames(answers, config.wire)
  return {
    ...{ wire, decoys },
    shown: [
      `It answers as recorded: ${from}. ${settings.length} of ${plural(examined, 'examined setting')} are proved there and have data of the sandbox; the`,
      `others have what was recorded. "forecourt wire learn ${shellQuoted(folder as string)}" lists them.`,
    ],
  }
}
