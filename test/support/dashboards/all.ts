import { freshnessDashboard } from './freshness-and-spend.ts'
import { operationsDashboard } from './operations.ts'
import { type Dashboard, dashboardJson } from './panels.ts'

/** By the name of its file in `.deploy/grafana`. */
export const dashboards: Readonly<Record<string, Dashboard>> = {
  'operations.json': operationsDashboard,
  'freshness-and-spend.json': freshnessDashboard,
}

/** What `.deploy/grafana` has to hold, by file name. */
export function dashboardFiles(): Map<string, string> {
  return new Map(Object.entries(dashboards).map(([file, one]) => [file, dashboardJson(one)]))
}

/** Metrics that no dashboard draws, and why. */
export const leftOut: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['user', 'system'].map((kind) => [
      `process_cpu_${kind}_seconds_total`,
      'a part of process_cpu_seconds_total, which is drawn',
    ]),
  ),
  ...Object.fromEntries(
    ['', 'min_', 'max_', 'mean_', 'stddev_', 'p50_', 'p90_'].map((kind) => [
      `nodejs_eventloop_lag_${kind}seconds`,
      'the 99th percentile is drawn: heartbeats fail by the worst lags',
    ]),
  ),
  ...Object.fromEntries(
    ['handles', 'requests', 'resources'].map((kind) => [
      `nodejs_active_${kind}`,
      'says nothing without the code at hand; requests in flight and open files are drawn',
    ]),
  ),
  ...Object.fromEntries(
    ['total', 'used', 'available'].map((kind) => [
      `nodejs_heap_space_size_${kind}_bytes`,
      'the spaces of the heap of V8; their sum is drawn',
    ]),
  ),
  forecourt_key_state: 'an alert names a refused key, and a blocked one is drawn',
  forecourt_key_refused_calls: 'an alert names a refused key',
  forecourt_key_refused_rooftops: 'an alert names a refused key',
  nodejs_external_memory_bytes: 'a part of the resident memory, which is drawn',
  nodejs_heap_size_total_bytes: 'what V8 reserves; what it uses is drawn',
  nodejs_version_info: 'the version of Forecourt is drawn, and its image holds one version of Node',
  process_heap_bytes: 'the resident memory and the heap of V8 are drawn',
  process_virtual_memory_bytes: 'Node reserves far more addresses than it uses',
}
