import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { errorText, UsageError } from '../../errors.ts'
import { clientConfigFor, sandboxVehicleDataKey } from '../../sandbox/client-config.ts'
import { generateWorld } from '../../sandbox/generate-world.ts'
import { daySeconds } from '../../values/window.ts'
import { defaultWire } from '../../values/wire.ts'
import { configPath } from '../config/read.ts'
import { configJsonSchema } from '../config/schema.ts'
import { configText, type SandboxValues } from '../config/template.ts'
import type { RunCommand } from './command.ts'
import { sandboxAnchor } from './sandbox-anchor.ts'

const schemaFile = '.forecourt/forecourt.schema.json'

/** Writes a commented forecourt.yaml, and beside it the JSON Schema that editors check it with. */
export const init: RunCommand = async (session, options) => {
  if (options['schema'] === true) {
    const schema = configJsonSchema()
    session.result(schema, () => [JSON.stringify(schema, null, 2)])
    return 0
  }
  const file = configPath(session.globals.config, session.io.environment)
  if (existsSync(file) && options['force'] !== true)
    throw new UsageError(
      `${file} exists and was not changed: edit it, or add --force to overwrite it.`,
    )
  const isSandbox = options['sandbox'] === true
  const schema = writeConfig(file, isSandbox)
  session.result({ file, schema }, () => [`Wrote ${file}.`, ...nextSteps(isSandbox)])
  return 0
}

/** Writes the config and its JSON Schema; gives the path of the schema. UsageError when they cannot be written. */
export function writeConfig(file: string, isSandbox: boolean): string {
  const home = path.dirname(file)
  const schema = path.join(home, schemaFile)
  try {
    mkdirSync(path.dirname(schema), { recursive: true })
    const text = configText(isSandbox ? sandboxPlaces(home) : null)
    writeFileSync(schema, `${JSON.stringify(configJsonSchema(), null, 2)}\n`)
    writeFileSync(file, `# yaml-language-server: $schema=${schemaFile}\n${text}`)
    return schema
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).syscall === undefined) throw cause
    throw new UsageError(
      `${file} cannot be written (${errorText(cause)}): correct the rights, or name another place with --config.`,
      { cause },
    )
  }
}

/** What `forecourt sandbox` serves when it is started without options. */
function sandboxPlaces(home: string): SandboxValues {
  const now = sandboxAnchor(home)
  const days = 90
  const size = { seed: 1, rooftops: 6, evaluations: 0, days, now }
  const world = generateWorld({ ...size, generatedUser: defaultWire.appraisal.generatedUser })
  const start = new Date(now.getTime() - (days + 2) * daySeconds * 1000)
  return {
    ...clientConfigFor(world, {
      baseUrl: 'http://127.0.0.1:4010/v1',
      vehicleDataUrl: 'http://127.0.0.1:4011',
      vehicleDataKey: sandboxVehicleDataKey,
    }),
    start: start.toISOString().slice(0, 10),
  }
}

function nextSteps(isSandbox: boolean): string[] {
  return isSandbox
    ? [
        'Next: "forecourt sandbox" in another terminal, then "forecourt check" and "forecourt sync".',
      ]
    : [
        'Next: fill in the addresses of the services, keys and rooftops. Addresses, keys, uid and dealerId come from the service.',
        'Then "forecourt check", "forecourt wire check --write", "forecourt migrate" and "forecourt sync".',
      ]
}
