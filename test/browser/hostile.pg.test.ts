import { afterAll, beforeAll, expect, test } from 'vitest'
import { pages } from '#src/web/console/pages.ts'
import { readTargets, rowOf } from '../web/console/access-matrix.ts'
import { openHostileConsole, vectors } from '../web/console/hostile-texts.ts'
import { type Browsing, browse } from './browser.ts'

let browsing: Browsing

beforeAll(async () => {
  browsing = await browse(await openHostileConsole())
})
afterAll(async () => await browsing[Symbol.asyncDispose]())

/** The elements that a page has and that none of ours writes. */
const foreign =
  'main :is(script, iframe, base, meta, style, object, embed, img, [onerror], [onload], [onfocus], [onmouseover], [style], [srcdoc])'

test('no text of the warehouse becomes an element, a dialog or a violation of the policy', async () => {
  const [target] = await readTargets(browsing.console)
  const found: string[] = []
  const shown = new Set<string>()

  for (const { path } of pages) {
    const page = await browsing.open(rowOf(path).path(target!))
    const own = await page.$$eval(foreign, (elements) => elements.map((one) => one.outerHTML))
    found.push(...own.map((element) => `${path}: ${element}`))
    const text = await page.evaluate('document.body.innerText')
    for (const vector of vectors) if (String(text).includes(vector)) shown.add(vector)
    await page.close()
  }

  expect(found).toEqual([])
  expect(browsing.complaints).toEqual([])
  // As a person reads them; otherwise the test would prove nothing.
  expect(shown.size).toBeGreaterThan(vectors.length / 2)
})

test('a text that became an element would be found, and the policy would stop it', async () => {
  const page = await browsing.open('/')
  const before = browsing.complaints.length
  await page.evaluate(
    `document.querySelector('main').innerHTML = '<img src="data:," onerror="alert(1)">'`,
  )

  expect(await page.$$(foreign)).toHaveLength(1)
  await expect
    .poll(() => browsing.complaints.slice(before).join())
    .toMatch(/Content Security Policy/)
  expect(browsing.complaints.join()).not.toContain('dialog')
})
