import { createLogUpdate } from 'log-update'
import type { Progress } from '../../context.ts'

/** Where the lines are drawn, and what was asked for. */
interface Screen {
  readonly stderr: NodeJS.WritableStream & { isTTY?: boolean }
}
interface Asked {
  readonly progress?: boolean
  readonly quiet?: boolean
  readonly json?: boolean
}

/** How far the work of one stream is, over all rooftops. */
export interface StreamProgress {
  readonly stream: string
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

/** The lines at the bottom of a terminal. */
export interface ProgressLines extends Progress {
  /** Writes text above the lines. */
  write(text: string): unknown
}

const drawEveryMs = 200
/** A stream with nothing left to do is no longer shown after this. */
const finishedAfterMs = 2_000

/** Whether progress is drawn: on a terminal, unless the command line asks for none. */
export function drawsProgress({ stderr }: Screen, { progress, quiet, json }: Asked): boolean {
  return stderr.isTTY === true && progress !== false && !quiet && !json
}

/** One line for each running stream; null where none is drawn. */
export function openProgress(screen: Screen, wanted: Asked): ProgressLines | null {
  if (!drawsProgress(screen, wanted)) return null
  const { stderr } = screen
  // It never hides the cursor: a process that is killed could not show it again.
  const update = createLogUpdate(stderr as NodeJS.WriteStream, { showCursor: true })
  const size = stderr as { columns?: number; rows?: number }
  const openedMs = performance.now()
  const streams = new Map<string, StreamState>()
  const draw = () => {
    const now = performance.now()
    const running = [...streams].filter(([, state]) => !state.isFinished(now))
    const lines = running.map(([stream, state]) =>
      progressLine(state.progress(stream), size.columns ?? 80),
    )
    const seconds = Math.floor((now - openedMs) / 1000)
    if (lines.length === 0) lines.push(`Working … ${durationText(seconds)}`)
    update(lines.slice(0, Math.max(1, (size.rows ?? 24) - 2)).join('\n'))
  }
  let hasEnded = false
  draw()
  const timer = setInterval(draw, drawEveryMs).unref()
  return {
    slice({ stream, rooftop, done, total, records }) {
      const state = streams.get(stream) ?? new StreamState(openedMs)
      streams.set(stream, state)
      state.add(rooftop, done, total, records)
    },
    write(text) {
      if (hasEnded) return stderr.write(text)
      update.clear()
      stderr.write(text)
      return draw()
    },
    end() {
      hasEnded = true
      clearInterval(timer)
      update.clear()
    },
  }
}

/** The sum over the rooftops of one stream. */
class StreamState {
  readonly #rooftops = new Map<string, { readonly done: number; readonly total: number }>()
  readonly #opened: ProgressPoint
  #first: ProgressPoint | null = null
  #last: ProgressPoint
  #total = 0

  constructor(openedMs: number) {
    this.#opened = { atMs: openedMs, done: 0, records: 0 }
    this.#last = this.#opened
  }

  add(rooftop: string, done: number, total: number, records: number): void {
    this.#rooftops.set(rooftop, { done, total })
    const all = [...this.#rooftops.values()]
    this.#total = all.reduce((sum, one) => sum + one.total, 0)
    this.#last = {
      atMs: performance.now(),
      done: all.reduce((sum, one) => sum + one.done, 0),
      records: this.#last.records + records,
    }
    this.#first ??= this.#last
  }

  isFinished(nowMs: number): boolean {
    return this.#last.done >= this.#total && nowMs - this.#last.atMs > finishedAfterMs
  }

  progress(stream: string): StreamProgress {
    const { done, records } = this.#last
    const recent = measurePace(this.#first ?? this.#opened, this.#last, this.#total)
    // One slice has no pace but that since the start, which the opening of the warehouse slows.
    const pace = recent.rate === null ? measurePace(this.#opened, this.#last, this.#total) : recent
    return { stream, done, total: this.#total, records, ...pace }
  }
}

/** The pace between two moments; nothing is known before a second has passed. */
export function measurePace(
  first: ProgressPoint,
  now: ProgressPoint,
  total: number,
): Pick<StreamProgress, 'rate' | 'secondsLeft'> {
  const seconds = (now.atMs - first.atMs) / 1000
  if (seconds < 1) return { rate: null, secondsLeft: null }
  const slices = now.done - first.done
  return {
    rate: (now.records - first.records) / seconds,
    secondsLeft: slices > 0 ? ((total - now.done) * seconds) / slices : null,
  }
}

/** One line of at most `columns` − 1 characters: the name and the facts whole, and a bar where there is room. */
export function progressLine(progress: StreamProgress, columns: number): string {
  const { stream, done, total, records, rate, secondsLeft } = progress
  const pace = rate === null ? '-' : rate > 0 && rate < 1 ? '<1' : String(Math.round(rate))
  const left = secondsLeft === null ? '-' : durationText(secondsLeft)
  const count = `${done}/${total}`.padStart(9)
  const facts = `${count} done ${String(records).padStart(6)} records ${pace.padStart(4)}/s ${left.padStart(6)} left`
  const name = stream.padEnd(nameWidth)
  const barWidth = Math.min(20, columns - 1 - facts.length - nameWidth - 2)
  if (barWidth < shortestBar) return `${name} ${facts.trimStart()}`.slice(0, columns - 1)
  const full = total > 0 ? Math.round((done / total) * barWidth) : 0
  return `${name} ${'█'.repeat(full)}${'░'.repeat(barWidth - full)} ${facts}`
}

const shortestBar = 5
/** Of the longest name, vehicle-checks. */
const nameWidth = 14

function durationText(seconds: number): string {
  const whole = Math.ceil(seconds)
  const two = (part: number) => String(part).padStart(2, '0')
  if (whole < 60) return `${whole}s`
  if (whole < 3600) return `${Math.floor(whole / 60)}m${two(whole % 60)}s`
  return `${Math.floor(whole / 3600)}h${two(Math.floor((whole % 3600) / 60))}m`
}
