/** A family of series: one metric with its type, help and series. */
export interface Family {
  readonly type: string
  readonly help: string
  /** By the text of name and labels, e.g. `up{part="jobs"}`. */
  readonly series: Map<string, number>
}

const name = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const label = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\[\\\\n"])*"'
const sampleLine = new RegExp(`^(${name})(?:\\{(${label}(?:,${label})*),?\\})? (\\S+)$`)
const number = /^([+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?|[+-]Inf|NaN)$/i

/**
 * Reads the text format of Prometheus 0.0.4, strictly: each family described once, with its HELP and TYPE before its series, no
 * duplicate series, every label and number well-formed. Throws with the wrong line.
 */
export function parseExposition(text: string): Map<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the last line has no end')
  const families = new Map<string, Family>()
  const helps = new Map<string, string>()
  let current = ''
  for (const line of text.split('\n')) {
    if (line === '') continue
    const [, kind, of, rest] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? []
    if (kind === 'HELP') {
      if (helps.has(of!)) throw new Error(`described twice: ${line}`)
      helps.set(of!, rest!)
    } else if (kind === 'TYPE') {
      const help = helps.get(of!)
      const isType = /^(counter|gauge|histogram|summary|untyped)$/.test(rest!)
      if (!isType || help === undefined || families.has(of!))
        throw new Error(`out of place: ${line}`)
      families.set(of!, { type: rest!, help, series: new Map() })
      current = of!
    } else addSample(line, current, families)
  }
  return families
}

function addSample(line: string, current: string, families: ReadonlyMap<string, Family>): void {
  const [, of = '', labels, value = ''] = sampleLine.exec(line) ?? []
  if (!number.test(value)) throw new Error(`no sample: ${line}`)
  const family = families.get(current)
  const isPart = /^(histogram|summary)$/.test(family?.type ?? '')
  const fits = of === current || (isPart && of.replace(/_(bucket|sum|count)$/, '') === current)
  const series = labels === undefined ? of : `${of}{${labels}}`
  if (family === undefined || !fits || family.series.has(series))
    throw new Error(`out of place: ${line}`)
  family.series.set(series, Number(value.replace('Inf', 'Infinity')))
}

/** Every series of the text. */
export function seriesOf(text: string): Map<string, number> {
  return new Map([...parseExposition(text).values()].flatMap(({ series }) => [...series]))
}

/** Violations of the conventions of Prometheus; empty: none. */
export function faultsOf(families: ReadonlyMap<string, Family>): string[] {
  return [...families].flatMap(([of, { type, help }]) => {
    const isOurs = of.startsWith('forecourt_')
    const faults: string[] = []
    if ((type === 'counter') !== of.endsWith('_total') && isOurs) faults.push(`${of} is a ${type}`)
    if (type === 'histogram' && !of.endsWith('_seconds')) faults.push(`${of} names no unit`)
    if (/_(ms|millis|minutes|hours|days|kb|mb)(_|$)/.test(of))
      faults.push(`${of} is in no base unit`)
    if (help.trim() === '') faults.push(`${of} has no help`)
    return faults
  })
}
