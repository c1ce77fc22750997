import { context, propagation, trace } from '@opentelemetry/api'
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-node'

/** Records the spans of this process with the SDK, until it is disposed. `sampled`: the share of traces. */
export function recordSpans(
  sampled = 1,
): Disposable & { readonly spans: () => readonly ReadableSpan[] } {
  const exporter = new InMemorySpanExporter()
  const sampler = new TraceIdRatioBasedSampler(sampled)
  new NodeTracerProvider({
    sampler,
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  }).register()
  return {
    spans: () => exporter.getFinishedSpans(),
    [Symbol.dispose]: () => {
      for (const api of [trace, context, propagation]) api.disable()
    },
  }
}

/** The names of a span and of those above it, the outermost first. */
export function pathOf(span: ReadableSpan, spans: readonly ReadableSpan[]): string[] {
  const parent = spans.find(
    (other) => other.spanContext().spanId === span.parentSpanContext?.spanId,
  )
  return [...(parent === undefined ? [] : pathOf(parent, spans)), span.name]
}

/** Everything of a span that leaves the process. */
export function textOf({ name, attributes, events, links, status }: ReadableSpan): string {
  return JSON.stringify({ name, attributes, events, links, status })
}
