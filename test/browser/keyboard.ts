import type { Page } from 'playwright-core'
import { expect } from 'vitest'

type Role = Parameters<Page['getByRole']>[0]

/** A person at a page with a keyboard alone. Every step asserts that the focus is seen. */
export interface Keyboard {
  readonly page: Page
  /** Presses Tab until the focus is at what has this role and name. */
  tabTo(role: Role, name: string | RegExp): Promise<void>
  /** The same, then Enter; waits for the page that it leads to. */
  enter(role: Role, name: string | RegExp): Promise<void>
  /** Skips to the content of a page that was just opened, as the first link of it does. */
  skip(): Promise<void>
  press(...keys: readonly string[]): Promise<void>
  type(text: string): Promise<void>
}

/** More stops than any way on a page has. */
const mostStops = 150

export function keyboardOf(page: Page): Keyboard {
  const press: Keyboard['press'] = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key)
  }
  const tabTo: Keyboard['tabTo'] = async (role, name) => {
    const wanted = page.getByRole(role, { name, exact: typeof name === 'string' })
    const stops: string[] = []
    while (stops.length < mostStops) {
      await press('Tab')
      stops.push(await focusSeen(page))
      for (const one of await wanted.all())
        if (await one.evaluate((element) => element === element.ownerDocument.activeElement)) return
    }
    throw new Error(`Tab reaches no ${role} ${name} at ${page.url()}: ${stops.join(' | ')}`)
  }
  return {
    ...{ page, press, tabTo },
    enter: async (role, name) => {
      await tabTo(role, name)
      await Promise.all([page.waitForEvent('load'), press('Enter')])
      await headingIsThere(page)
    },
    skip: async () => {
      await press('Tab')
      expect(await focusSeen(page)).toBe('To the content')
      await press('Enter')
      expect(await focusSeen(page)).toBe('main')
    },
    type: async (text) => await page.keyboard.type(text),
  }
}

/** The first heading is in the content, where the skip link leads, and the tab has a title. */
async function headingIsThere(page: Page): Promise<void> {
  expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1)
  expect(await page.getByRole('main').getByRole('heading', { level: 1 }).count()).toBe(1)
  expect(await page.title()).toMatch(/^.+ · Forecourt$/)
}

/** What has the focus, in a word; fails where the focus is at nothing, or cannot be seen. */
export async function focusSeen(page: Page): Promise<string> {
  const { name, problem } = (await page.evaluate(`(${focusOf})()`)) as Focus
  expect(problem, `the focus at ${name} of ${page.url()}`).toBeNull()
  return name
}

interface Focus {
  readonly name: string
  readonly problem: string | null
}

// Runs in the page. An outline, or for the content as a whole a line, and nothing of another element above it.
const focusOf = `() => {
  const element = document.activeElement
  if (element === null || element === document.body) return { name: 'nothing', problem: 'it is lost' }
  const name = element.tagName === 'MAIN' ? 'main' : (element.textContent.trim() || element.getAttribute('name') || element.tagName).slice(0, 60)
  const style = getComputedStyle(element)
  const isMarked = (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2) || style.boxShadow !== 'none'
  const box = element.getBoundingClientRect()
  const isInside = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth
  if (!isMarked) return { name, problem: 'it has no outline' }
  if (!isInside || box.width < 1 || box.height < 1) return { name, problem: 'it is outside of what is seen' }
  if (style.clipPath !== 'none' || style.opacity === '0') return { name, problem: 'it is hidden' }
  return { name, problem: null }
}`
