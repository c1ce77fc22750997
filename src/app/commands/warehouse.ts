import { UsageError } from '../../errors.ts'
import { embeddedStatus, ensureEmbedded, stopEmbedded } from '../../warehouse/db/embedded.ts'
import { embeddedFolder } from '../../warehouse/warehouse.ts'
import type { Config } from '../config/read.ts'
import type { RunCommand } from './command.ts'
import type { Session } from './session.ts'

/** The embedded Postgres by hand; an addition to the contract. */
export const warehouse: RunCommand = async (session, _options, [action]) => {
  await actions[action as string]!(session, warehouseFolder(session.config))
  return 0
}

const actions: Readonly<Record<string, (session: Session, folder: string) => Promise<void>>> = {
  async start(session, folder) {
    const { port, started } = await open(session, folder)
    session.result({ running: true, port, started }, () => [
      started ? `Started on 127.0.0.1:${port}.` : `Already running on 127.0.0.1:${port}.`,
    ])
  },
  async stop(session, folder) {
    const stopped = await stopEmbedded(folder)
    session.result({ running: false, stopped }, () => [
      stopped ? 'Stopped.' : 'It was not running.',
    ])
  },
  async url(session, folder) {
    const { url } = await open(session, folder)
    session.resultWithSecrets({ url }, () => [url])
  },
  async status(session, folder) {
    const status = await embeddedStatus(folder)
    session.result({ folder, ...status }, () => [
      !status.initialised
        ? `Not created yet: the first command that needs it creates it in ${folder}.`
        : status.running
          ? `Running on 127.0.0.1:${status.port} (pid ${status.pid}) in ${folder}.`
          : `Stopped: the next command that needs it starts it in ${folder}.`,
    ])
  },
}

async function open(session: Session, folder: string) {
  return await ensureEmbedded(folder, { log: (line) => session.log.info(line) })
}

function warehouseFolder(config: Config): string {
  if (config.warehouse.url === null) return embeddedFolder(config)
  throw new UsageError(
    `warehouse.url is set in ${config.file ?? 'the config'}, and this command is only for the embedded Postgres: ` +
      'take warehouse.url out to use that, or connect with the url itself.',
  )
}
