import {
  type Attributes,
  context,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { SyncError } from './errors.ts'

// Traces for OpenTelemetry, through its API alone: without an SDK, which the user brings, nothing is recorded. Attributes hold ids of
// ours, names, counts and times. They hold nothing of a record, no key, no path with values, no query, and no text of an error.

const flushMs = 5_000

/** A span that is open. Without an SDK it does nothing. */
export class OpenSpan {
  readonly #span: Span
  /** Whether an SDK made it; one that is not sampled has to be the parent of others all the same. */
  readonly #isReal: boolean

  constructor(span: Span) {
    this.#span = span
    this.#isReal = trace.isSpanContextValid(span.spanContext())
  }

  /** Runs work whose spans are children of this one. */
  within<T>(work: () => T): T {
    return this.#isReal ? context.with(trace.setSpan(context.active(), this.#span), work) : work()
  }

  /** Makes the attributes only where they are recorded. */
  set(attributes: () => Attributes): void {
    if (this.#span.isRecording()) this.#span.setAttributes(attributes())
  }

  /** Marks it as failed. `type` is one of a few names, never a message: that may name a vehicle. */
  fail(type: string): void {
    this.set(() => ({ 'error.type': type }))
    this.#span.setStatus({ code: SpanStatusCode.ERROR })
  }

  end(): void {
    this.#span.end()
  }

  /** The header that makes a span of the service a child of this one; nothing without an SDK. */
  traceparent(): Readonly<Record<string, string>> {
    const carrier: Record<string, string> = {}
    this.within(() => propagation.inject(context.active(), carrier))
    const { traceparent } = carrier
    return traceparent === undefined ? {} : { traceparent }
  }
}

/** Opens a span below the active one. `name` has few values: no ids. */
export function openSpan(name: string, kind: 'internal' | 'client' = 'internal'): OpenSpan {
  const options = { kind: kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL }
  return new OpenSpan(trace.getTracer('forecourt').startSpan(name, options))
}

/** Runs work in a span that ends with it, and is marked as failed when it throws. Ended by `signal`, it has not failed. */
export async function inSpan<T>(
  { name, attributes, signal }: SpanFacts,
  work: (span: OpenSpan) => Promise<T>,
): Promise<T> {
  const span = openSpan(name)
  span.set(attributes)
  return await endingSpan(span, async () => await work(span), signal)
}

/** What a span is about. */
export interface SpanFacts {
  /** Has few values: no ids. */
  readonly name: string
  readonly attributes: () => Attributes
  readonly signal?: AbortSignal
}

/** Runs the last work of an open span. */
export async function endingSpan<T>(
  span: OpenSpan,
  work: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  try {
    return await span.within(work)
  } catch (error) {
    if (signal?.aborted !== true) span.fail(errorType(error))
    throw error
  } finally {
    span.end()
  }
}

/** The name of a fault as spans have it. */
export function errorType(error: unknown): string {
  if (error instanceof SyncError) return error.meaning ?? error.errorAction
  const { meaning } = (error ?? {}) as { readonly meaning?: unknown }
  if (typeof meaning === 'string') return meaning
  return error instanceof Error ? error.name : 'unknown'
}

/** Sends what an SDK still holds, which a process that exits would lose; waits 5 seconds at most. */
export async function flushSpans(): Promise<void> {
  // An SDK is behind the provider of whichever copy of the API it uses.
  const provider = trace.getTracerProvider() as { getDelegate?: () => unknown }
  const sdk = (provider.getDelegate?.() ?? provider) as { forceFlush?: () => Promise<void> }
  const isLate = new Promise<void>((done) => setTimeout(done, flushMs).unref())
  await Promise.race([sdk.forceFlush?.().catch(() => undefined), isLate])
}
