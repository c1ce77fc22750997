import type { Readable, Writable } from 'node:stream'
import { type Context, noProgress } from '../../context.ts'
import { type Log, type LogLevel, openLog, scrubber } from '../../log.ts'
import type { ContextOptions } from '../../open-context.ts'
import type { PoolOptions } from '../../warehouse/db/connect.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import { type Config, type Environment, listSecrets, loadConfig } from '../config/read.ts'
import type { ProgressLines } from './progress.ts'

/** What a command line runs in. */
export interface CommandIo {
  readonly environment: Environment
  readonly signal: AbortSignal
  /** Left out: the process's own. */
  readonly stdin?: Readable
  readonly stdout: Writable & { isTTY?: boolean }
  readonly stderr: Writable & { isTTY?: boolean; hasColors?(environment: object): boolean }
  /** Removes secrets from a message; set once the config is known. */
  hide?: (text: string) => string
  /** Set once a result is on stdout: with --json there is only one. */
  hasResult?: boolean
}

interface GlobalOptions {
  readonly config?: string
  readonly json?: boolean
  readonly logLevel?: LogLevel
  readonly quiet?: boolean
  readonly progress?: boolean
}

/** One invocation: its config, its log, and where its result goes. */
export class Session implements AsyncDisposable {
  readonly io: CommandIo
  readonly globals: GlobalOptions
  #config: Config | undefined
  #isConfigMade = false
  #log: Log | undefined
  #progress: ProgressLines | null = null
  readonly #open: AsyncDisposable[] = []

  constructor(io: CommandIo, globals: GlobalOptions) {
    this.io = io
    this.globals = globals
  }

  get config(): Config {
    this.#config ??= this.#keepSecrets(loadConfig(this.globals.config, this.io.environment))
    return this.#config
  }

  /** Takes a config made in the program, whose embedded Postgres may have to be made too. */
  useConfig(config: Config): Config {
    this.#isConfigMade = true
    this.#config = this.#keepSecrets(config)
    return config
  }

  /** Keeps the secrets of the config out of everything that is written. */
  #keepSecrets(config: Config): Config {
    this.io.hide = scrubber(listSecrets(config))
    return config
  }

  get log(): Log {
    this.#log ??= openLog({
      level: this.globals.quiet ? 'error' : (this.globals.logLevel ?? 'info'),
      human: this.io.stderr.isTTY === true,
      // Node knows NO_COLOR, FORCE_COLOR and the terminals without colours.
      colour: this.io.stderr.hasColors?.(this.io.environment.variables) === true,
      secrets: listSecrets(this.config),
      write: (line) => (this.#progress ?? this.io.stderr).write(line),
    })
    return this.#log
  }

  get json(): boolean {
    return this.globals.json === true
  }

  /** Shows on a terminal that the command works, before the first import that takes long. */
  async showProgress(): Promise<void> {
    const { openProgress } = await import('./progress.ts')
    this.#progress ??= openProgress(this.io, this.globals)
  }

  /** Opens warehouse, work engine and source; closed with the session. */
  async context(options: Partial<ContextOptions> = {}): Promise<Context> {
    if (options.progress === undefined) await this.showProgress()
    await this.#assertWarehouseNamed()
    const { openContext } = await import('../../open-context.ts')
    const { crashPointFrom } = await import('./crash-switch.ts')
    const context = await openContext(this.config, this.log, {
      signal: this.io.signal,
      progress: this.#progress ?? noProgress,
      crashPoint: crashPointFrom(this.io.environment),
      ...options,
    })
    this.#open.push(context)
    return context
  }

  async warehouse(mode: 'read' | 'write', sessions: Partial<PoolOptions> = {}): Promise<Warehouse> {
    await this.#assertWarehouseNamed()
    const { openWarehouse } = await import('../../warehouse/warehouse.ts')
    const warehouse = await openWarehouse(this.config, this.log, mode, sessions)
    this.#open.push(warehouse)
    return warehouse
  }

  async #assertWarehouseNamed(): Promise<void> {
    if (this.#isConfigMade) return
    const { assertWarehouseNamed } = await import('../../warehouse/warehouse.ts')
    assertWarehouseNamed(this.config)
  }

  /** The command's result: the document with --json, else the lines. */
  result(document: unknown, lines: () => readonly string[]): void {
    // Its lines would be erased together with those of the progress.
    this.#progress?.end()
    const hide = this.io.hide ?? ((text: string) => text)
    // Value by value, so that the document stays JSON.
    const clean = (_: string, value: unknown) => (typeof value === 'string' ? hide(value) : value)
    const text = this.json ? JSON.stringify(document, clean, 2) : hide(lines().join('\n'))
    this.io.stdout.write(`${text}\n`)
    this.io.hasResult = true
  }

  /** A result that may show secrets: the demo's connection string, the sandbox's keys. */
  resultWithSecrets(document: unknown, lines: () => readonly string[]): void {
    this.#progress?.end()
    this.io.stdout.write(`${this.json ? JSON.stringify(document, null, 2) : lines().join('\n')}\n`)
    this.io.hasResult = true
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#progress?.end()
    for (const open of this.#open.reverse()) await open[Symbol.asyncDispose]()
  }
}
