#!/usr/bin/env node
// The only process.exit and the only signal handler of the program.
import './bin.cts'
import { useCompileCache } from './compile-cache.ts'
import { growInSmallSteps } from './heap.ts'

growInSmallSteps()
useCompileCache()
const { reportUncaught, runCli } = await import('./cli.ts')

const stop = new AbortController()
let received: NodeJS.Signals | undefined
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // A second signal does not wait for the checkpoint.
    if (received) process.exit(received === 'SIGINT' ? 130 : 143)
    received = signal
    stop.abort(new Error(`stopped by ${signal}`, { cause: signal }))
  })
}
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
})

const io: Parameters<typeof runCli>[1] = {
  environment: { variables: process.env, cwd: process.cwd() },
  signal: stop.signal,
  stdout: process.stdout,
  stderr: process.stderr,
}
process.on('uncaughtException', (error) => process.exit(reportUncaught(error, io)))

const code = await runCli(process.argv.slice(2), io)
// Only where an SDK is loaded is there anything to send.
if (Symbol.for('opentelemetry.js.api.1') in globalThis)
  await (await import('./tracing.ts')).flushSpans()
// A pipe takes what is written when its reader gets to it: leaving earlier would cut the result off.
await new Promise<void>((done) => process.stdout.write('', () => done()))
process.exit(received ? (received === 'SIGINT' ? 130 : 143) : code)
