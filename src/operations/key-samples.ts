import type { Sample } from './gauges.ts'

/** The status of an API key in this process. */
export interface KeyStatus {
  /** `appraisal/<name under keys:>`, or `vehicleData`. */
  readonly key: string
  readonly inFlight: number
  readonly waiting: number
  readonly concurrency: number
  readonly processes: number
  /** Requests a second over all processes; null: no limit is known. */
  readonly perSecond: number | null
  /** Our clock; null: not blocked. */
  readonly blockedUntil: Date | null
}

/** The gauges of the keys, labelled as the requests are. */
export function keySamples(keys: readonly KeyStatus[]): Sample[] {
  return keys.flatMap((status) => {
    const { inFlight, waiting, concurrency, processes, perSecond, blockedUntil } = status
    const labels = labelsOf(status.key)
    const blockedMs = blockedUntil === null ? 0 : blockedUntil.getTime() - Date.now()
    const samples: Sample[] = [
      { gauge: 'forecourt_requests_in_flight', labels, value: inFlight },
      { gauge: 'forecourt_requests_waiting', labels, value: waiting },
      { gauge: 'forecourt_request_concurrency_limit', labels, value: concurrency },
      { gauge: 'forecourt_key_processes', labels, value: processes },
      { gauge: 'forecourt_key_blocked_seconds', labels, value: Math.max(0, blockedMs / 1000) },
    ]
    if (perSecond !== null)
      samples.push({ gauge: 'forecourt_request_rate_limit', labels, value: perSecond })
    return samples
  })
}

/** The same labels as on the counters of requests, so that both can be joined. */
function labelsOf(key: string): Record<string, string> {
  if (!key.startsWith('appraisal/')) return { service: 'vehicle-data', key }
  return { service: 'appraisal', key: key.slice('appraisal/'.length) }
}
