import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)
/** Only what is wrong is described: to find a selector for each node that passed took a sixth of the time. */
const violationsOnly: RunOptions = { resultTypes: ['violations'] }
const everything: RunOptions = {
  ...violationsOnly,
  runOnly: {
    type: 'tag',
    values: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'],
  },
}
/** All that another colour scheme changes. */
const contrast: RunOptions = {
  ...violationsOnly,
  runOnly: { type: 'rule', values: ['color-contrast'] },
}

/** The violations of a page as it is now, a line each. */
export async function axe(page: Page, options = everything): Promise<string[]> {
  // A page has it until it is loaded again.
  if (await page.evaluate('typeof axe === "undefined"')) await page.evaluate(axeSource)
  const violations = await page.evaluate(async (wanted): Promise<AxeResults['violations']> => {
    const { axe } = globalThis as never as { axe: typeof import('axe-core') }
    return (await axe.run(wanted as never)).violations
  }, options)
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id} at ${html}`))
}

/** 640: what is left of 1280 at a zoom of 200 %; 390: a phone. */
const widths = [1280, 768, 640, 390, 320]
/** A page with a full table on a phone. */
const mostPixels = 4_000

/** A page with more nodes is slow on an old machine. */
const mostNodes = 3_000

/** What is wrong with an open page wide and narrow, light and dark, zoomed, and with the colours of the system: a line each. */
export async function inspect(page: Page): Promise<string[]> {
  const findings: string[] = []
  const add = (state: string, found: readonly string[]) =>
    findings.push(
      ...found.map((finding) => `${new URL(page.url()).pathname}, ${state}: ${finding}`),
    )
  const nodes = Number(await page.evaluate('document.querySelectorAll("*").length'))
  if (nodes > mostNodes) add('size', [`it has ${nodes} nodes`])
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 })
    add(String(width), await findCut(page, width))
    if (width !== 1280 && width !== 320) continue
    add(String(width), await axe(page))
    await page.emulateMedia({ colorScheme: 'dark' })
    add(`${width} dark`, await axe(page, contrast))
    await page.emulateMedia({ colorScheme: 'light' })
  }
  await page.emulateMedia({ forcedColors: 'active' })
  add('forced colours', await findCut(page, 320))
  await page.emulateMedia({ forcedColors: 'none' })
  return findings
}

/** What a person cannot read on a screen of a width without scrolling sideways, and whether a phone has to be scrolled for long: a line each. */
export async function findCut(page: Page, width: number): Promise<string[]> {
  await page.setViewportSize({ width, height: 900 })
  const { wide, high, tables, texts } = await page.evaluate<Cut>(cut)
  return [
    ...(wide > width ? [`it is ${wide} pixels wide`] : []),
    ...(width === 390 && high > mostPixels ? [`it is ${high} pixels long`] : []),
    // Between a phone and 1280 pixels, a table of many columns is scrolled by itself.
    ...(width >= 1280 ? tables : []),
    ...texts,
  ]
}

interface Cut {
  readonly wide: number
  readonly high: number
  readonly tables: readonly string[]
  readonly texts: readonly string[]
}

/** Finds texts that go beyond their box: a cell, a badge, a button or a chart. What is scrolled by itself is left out. */
const cut = `(() => {
  const tables = [...document.querySelectorAll('.scroll.wide')]
    .filter((one) => one.scrollWidth > one.clientWidth)
    .map((one) => 'the table "' + one.ariaLabel + '" is ' + one.scrollWidth + ' pixels wide in ' + one.clientWidth)
  const texts = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement
    const text = walker.currentNode.data.trim()
    if (text === '' || !parent.checkVisibility() || parent.closest('.hidden, .skip, nav > ul, option, title, script, style')) continue
    const box = parent.closest('svg, .scroll, td, th, .badge, button, .button, .summary')
    if (box === null) continue
    const range = document.createRange()
    range.selectNodeContents(parent instanceof SVGElement ? parent : walker.currentNode)
    const [inner, outer] = [range.getBoundingClientRect(), box.getBoundingClientRect()]
    const isOut = inner.left < outer.left - 1 || inner.right > outer.right + 1
    const isChart = box instanceof SVGElement && (inner.top < outer.top - 2 || inner.bottom > outer.bottom + 2)
    if (inner.width > 0 && (isOut || isChart)) texts.push('"' + text.slice(0, 60) + '" is cut')
  }
  const { scrollWidth: wide, scrollHeight: high } = document.scrollingElement
  return { wide, high, tables, texts }
})()`
