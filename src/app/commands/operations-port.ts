import type { Context } from '../../context.ts'
import { type Operations, openOperations } from '../../web/operations/operations.ts'
import { type OperationsServer, startOperationsServer } from '../../web/operations/server.ts'
import { wholeNumberOption } from './option-values.ts'

/** Health and metrics of a command that runs until it is stopped; they end when they are disposed. */
interface OpenOperations extends AsyncDisposable {
  readonly operations: Operations
}

/** Opens the operations, and serves them on a port of their own where one is given. UsageError when it cannot be had. */
export async function openOperationsPort(
  context: Context,
  options: Record<string, unknown>,
): Promise<OpenOperations> {
  const port = findPort(context, options)
  const operations = await openOperations(context)
  let server: OperationsServer | null = null
  try {
    server = port === null ? null : await listen(context, operations, port)
  } catch (error) {
    await operations[Symbol.asyncDispose]()
    throw error
  }
  return {
    operations,
    [Symbol.asyncDispose]: async () => {
      await server?.[Symbol.asyncDispose]()
      await operations[Symbol.asyncDispose]()
    },
  }
}

/** The same for a command that serves nothing else: null where no port is given. */
export async function openOptionalPort(
  context: Context,
  options: Record<string, unknown>,
): Promise<OpenOperations | null> {
  return findPort(context, options) === null ? null : await openOperationsPort(context, options)
}

function findPort({ config }: Context, options: Record<string, unknown>): number | null {
  const given = options['operationsPort'] ?? config.operations.port
  return given === null ? null : wholeNumberOption('--operations-port', given, 0, 65_535)
}

async function listen(
  { config, log }: Context,
  operations: Operations,
  port: number,
): Promise<OperationsServer> {
  const { host } = config.operations
  const server = await startOperationsServer(operations, { host, port })
  log.info(`operations on ${server.url}: /healthz, /readyz, /metrics`)
  return server
}
