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

/** How far the work of one stream at one rooftop is. */
export interface SliceProgress {
  readonly stream: string
  readonly rooftop: string
  readonly done: number
  readonly total: number
  readonly records: number
  /** Records a second, and the seconds left; null while nothing is known. */
  readonly rate: number | null
  readonly secondsLeft: number | null
}

interface ProgressPoint {
  readonly atMs: number
  readonly done: number
  readonly records: number
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
      format: (_options, { maxWidth }: { maxWidth?: number }, advance: SliceProgress) =>
        progressLine(advance, maxWidth ?? 80),
    },
    Presets.shades_classic,
  )
  const opened: ProgressPoint = { atMs: performance.now(), done: 0, records: 0 }
  const open = new Map<string, { bar: SingleBar; first: ProgressPoint; records: number }>()
  return {
    slice({ stream, rooftop, done, total, records }) {
      const key = `${stream}/${rooftop}`
      const known = open.get(key)
      const read = (known?.records ?? 0) + records
      const measure = { atMs: performance.now(), done, records: read }
      const first = known?.first ?? measure
      const recent = paceOf(first, measure, total)
      // One slice alone has no pace but that since the start, which the opening of the warehouse slows.
      const pace = recent.rate === null ? paceOf(opened, measure, total) : recent
      const advance = { stream, rooftop, total, ...measure, ...pace }
      const bar = known?.bar ?? bars.create(total, 0, advance)
      open.set(key, { bar, first, records: read })
      bar.setTotal(total)
      bar.update(done, advance)
    },
    end: () => bars.stop(),
  }
}

/** The pace between two moments; nothing is known before a second has passed. */
export function paceOf(
  first: ProgressPoint,
  now: ProgressPoint,
  total: number,
): Pick<SliceProgress, 'rate' | 'secondsLeft'> {
  const seconds = (now.atMs - first.atMs) / 1000
  if (seconds < 1) return { rate: null, secondsLeft: null }
  const windows = now.done - first.done
  return {
    rate: (now.records - first.records) / seconds,
    secondsLeft: windows > 0 ? ((total - now.done) * seconds) / windows : null,
  }
}

/** One line of at most `columns` − 1 characters: the facts whole, then the name, and the bar in what is left. */
export function progressLine(advance: SliceProgress, columns: number): string {
  const { stream, rooftop, done, total, records, rate, secondsLeft } = advance
  const pace = rate === null ? '-' : rate > 0 && rate < 1 ? '<1' : String(Math.round(rate))
  const left = secondsLeft === null ? '-' : durationText(secondsLeft)
  const count = `${done}/${total}`.padStart(9)
  const facts = `${count} windows ${String(records).padStart(6)} records ${pace.padStart(4)}/s ${left.padStart(6)} left`
  const room = columns - 1 - facts.length
  const nameWidth = Math.max(0, Math.min(32, room - shortestBar - 2))
  const name = nameOf(stream, rooftop, nameWidth).padEnd(nameWidth)
  const barWidth = Math.min(20, room - nameWidth - 2)
  if (barWidth < shortestBar) return facts.trimStart().slice(0, Math.max(0, columns - 1))
  const full = total > 0 ? Math.round((done / total) * barWidth) : 0
  return `${name} ${'█'.repeat(full)}${'░'.repeat(barWidth - full)} ${facts}`
}

const shortestBar = 5

/** The stream gives way to the rooftop: rooftops of a group are often told apart by their last word. */
function nameOf(stream: string, rooftop: string, width: number): string {
  const whole = `${stream} ${rooftop}`
  const text = whole.length <= width ? whole : `${stream.slice(0, 4)} ${rooftop}`
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`
}

function durationText(seconds: number): string {
  const whole = Math.ceil(seconds)
  const two = (part: number) => String(part).padStart(2, '0')
  if (whole < 60) return `${whole}s`
  if (whole < 3600) return `${Math.floor(whole / 60)}m${two(whole % 60)}s`
  return `${Math.floor(whole / 3600)}h${two(Math.floor((whole % 3600) / 60))}m`
}
