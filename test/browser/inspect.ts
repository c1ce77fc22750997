import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)
const everything: RunOptions = {
  runOnly: {
    type: 'tag',
    values: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'],
  },
}
/** All that another colour scheme changes. */
const contrast: RunOptions = { runOnly: { type: 'rule', values: ['color-contrast'] } }

/** The violations of a page as it is now, a line each. */
export async function axe(page: Page, options = everything): Promise<string[]> {
  await page.evaluate(axeSource)
  const { violations } = await page.evaluate(
    async (wanted): Promise<AxeResults> =>
      await (globalThis as never as { axe: typeof import('axe-core') }).axe.run(wanted as never),
    options,
  )
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id} at ${html}`))
}

/** 640: what is left of 1280 at a zoom of 200 %. */
const widths = [1280, 768, 640, 320]

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
    add(String(width), await sideways(page, width))
    if (width !== 1280 && width !== 320) continue
    add(String(width), await axe(page))
    await page.emulateMedia({ colorScheme: 'dark' })
    add(`${width} dark`, await axe(page, contrast))
    await page.emulateMedia({ colorScheme: 'light' })
  }
  await page.emulateMedia({ forcedColors: 'active' })
  add('forced colours', await sideways(page, 320))
  await page.emulateMedia({ forcedColors: 'none' })
  return findings
}

async function sideways(page: Page, width: number): Promise<string[]> {
  const needed = Number(await page.evaluate('document.documentElement.scrollWidth'))
  return needed > width ? [`it is ${needed} pixels wide`] : []
}
