import { MultiBar, Presets, type SingleBar } from 'cli-progress'
import { noProgress, type Progress } from '../context.ts'

/** Where the bars would be drawn, and what was asked for. */
interface Screen {
  readonly io: { readonly stderr: NodeJS.WritableStream & { isTTY?: boolean } }
  readonly globals: {
    readonly progress?: boolean
    readonly quiet?: boolean
    readonly json?: boolean
  }
}

/** Bars with rate and time left on a terminal; nothing elsewhere. */
export function openProgress({ io, globals }: Screen): Progress {
  if (io.stderr.isTTY !== true || globals.progress === false || globals.quiet || globals.json)
    return noProgress
  const bars = new MultiBar(
    {
      stream: io.stderr as NodeJS.WriteStream,
      hideCursor: true,
      clearOnComplete: true,
      format:
        '{name} {bar} {value}/{total} windows  {records} records  {rate}/s  {eta_formatted} left',
    },
    Presets.shades_classic,
  )
  const open = new Map<string, { bar: SingleBar; records: number; startedAt: number }>()
  return {
    slice({ stream, rooftop, done, total, records }) {
      const key = `${stream}/${rooftop}`
      const entry = open.get(key) ?? {
        bar: bars.create(total, 0, payload(stream, rooftop, 0, 0)),
        records: 0,
        startedAt: Date.now(),
      }
      entry.records += records
      open.set(key, entry)
      entry.bar.setTotal(total)
      entry.bar.update(done, payload(stream, rooftop, entry.records, Date.now() - entry.startedAt))
    },
    end: () => bars.stop(),
  }
}

function payload(stream: string, rooftop: string, records: number, elapsedMs: number) {
  const rate = elapsedMs > 0 ? Math.round(records / (elapsedMs / 1000)) : 0
  return { name: `${stream} ${rooftop}`.slice(0, 32).padEnd(32), records, rate }
}
