import { escapeXml, workbook } from '../stock/workbook/make-workbook.ts'

/** A random number below `most`, from a seed. */
export type Draw = (most: number) => number

export function drawFrom(seed: number): Draw {
  let state = seed * 2_654_435_761 + 1
  return (most) => {
    state = Math.imul(state ^ (state >>> 15), state | 1)
    state ^= state + Math.imul(state ^ (state >>> 7), state | 61)
    return ((state ^ (state >>> 14)) >>> 0) % most
  }
}

const formats = [
  14,
  22,
  20,
  10,
  '00000',
  '#,##0.00',
  '"$"#,##0.00',
  'yyyy-mm-dd',
  '#,##0" km"',
] as const
const pieces = [
  'S',
  '0',
  '7',
  ' ',
  '-',
  'Toyota',
  'é',
  'ض',
  '漢',
  '😀',
  '&',
  '<',
  '"',
  '=',
  '\n',
  '\t',
]

/** A workbook in one of the many forms that programs write: shared or inline texts, runs, gaps, formulas, prefixes. */
export function randomWorkbook(seed: number): Buffer {
  const draw = drawFrom(seed)
  const shared: string[] = []
  const width = 1 + draw(9)
  const rows: string[] = []
  let line = 0
  for (let count = 1 + draw(14); count > 0; count -= 1) {
    line += draw(10) === 0 ? 2 + draw(4) : 1
    rows.push(rowOf(line, width, draw, shared))
  }
  return workbook({
    sheets: [{ name: 'Stock', rows: rows.join('') }],
    shared: shared.join(''),
    formats,
    date1904: draw(5) === 0,
    prefix: draw(4) === 0 ? 'x' : '',
  })
}

function rowOf(line: number, width: number, draw: Draw, shared: string[]): string {
  const cells: string[] = []
  const hasPlaces = draw(3) > 0
  for (let column = 0; column < width; column += 1) {
    if (hasPlaces && draw(6) === 0) continue
    const place = hasPlaces ? ` r="${String.fromCharCode(65 + column)}${line}"` : ''
    cells.push(`<c${place} ${cellOf(draw, shared)}</c>`)
  }
  return `<row r="${line}">${cells.join('')}</row>`
}

function cellOf(draw: Draw, shared: string[]): string {
  const formula = draw(4) === 0 ? '<f>A1&amp;"x"</f>' : ''
  const whole = draw(10 ** (1 + draw(9)))
  switch (draw(9)) {
    case 0:
      return `t="s"><v>${shared.push(`<si>${richText(draw)}</si>`) - 1}</v>`
    case 1:
      return `t="inlineStr"><is>${richText(draw)}</is>`
    case 2:
      return `t="str">${formula}<v>${escapeXml(textOf(draw))}</v>`
    case 3:
      return `s="${[0, 5, 6, 9][draw(4)]}">${formula}<v>${whole}</v>`
    case 4:
      return `s="${[0, 4, 6, 7][draw(4)]}">${formula}<v>${(whole / 10 ** draw(6)).toString()}</v>`
    case 5:
      return `s="${[1, 8][draw(2)]}"><v>${1000 + draw(60_000)}</v>`
    case 6:
      return `s="2"><v>${1000 + draw(60_000) + draw(86_400) / 86_400}</v>`
    case 7:
      return `t="b">${formula}<v>${draw(2)}</v>`
    default:
      return draw(2) === 0 ? 's="5">' : `t="e">${formula}<v>${['#N/A', '#REF!'][draw(2)]}</v>`
  }
}

function richText(draw: Draw): string {
  const run = () => `<t xml:space="preserve">${escapeXml(textOf(draw))}</t>`
  if (draw(3) > 0) return run()
  const phonetic = draw(2) === 0 ? '<rPh sb="0" eb="1"><t>カ</t></rPh><phoneticPr fontId="1"/>' : ''
  return `<r>${run()}</r><r><rPr><b/></rPr>${run()}</r>${phonetic}`
}

function textOf(draw: Draw): string {
  return `x${Array.from({ length: draw(6) }, () => pieces[draw(pieces.length)]).join('')}`
}
