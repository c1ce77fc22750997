import { expect, test } from 'vitest'
import { allCommands } from '#src/app/commands/all.ts'
import { dashboards, drawnQueries, metricsIn, type Panel, rulesOf } from './metrics-used.ts'

const drawnPanels = dashboards.flatMap(({ title, panels }) =>
  panels
    .filter(({ type }) => type !== 'row')
    .map((panel) => ({ ...panel, name: `${title}, ${panel.title}` })),
)

test('panels have titles of their own, lie side by side in full rows, and are limited to the chosen processes', () => {
  expect(dashboards).toHaveLength(2)
  for (const { title, panels } of dashboards) {
    const titles = panels.filter(({ type }) => type !== 'row').map((panel) => panel.title)
    expect(new Set(titles).size).toBe(titles.length)
    expect(overlaps(panels), title).toEqual([])
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  }
  const unlimited = drawnQueries().filter(
    ({ expression }) =>
      expression.split('{job=~"$job"').length - 1 !== metricsIn(expression).length,
  )
  expect(unlimited).toEqual([])
})

test('every panel says what it shows, what is good, and what to do otherwise with commands that exist', () => {
  const known = allCommands.map(({ usage }) => usage.split(' ')[0]!)
  const texts = drawnPanels.map(({ name, description = '' }) => ({ name, description }))
  const incomplete = texts.filter(
    ({ description }) =>
      !/^[^\n]+\.\n\nGood: [^\n]+\.\n\nOtherwise: [^\n]{20,}\.$/.test(description),
  )
  const unknown = texts.filter(({ description }) =>
    [...description.matchAll(/"forecourt (\w+)/g)].some(([, command]) => !known.includes(command!)),
  )

  expect(texts.length).toBeGreaterThan(40)
  expect(incomplete.map(({ name }) => name)).toEqual([])
  expect(unknown).toEqual([])
})

test('every series has the unit of what it shows', () => {
  const wrong = drawnPanels.flatMap(
    ({ name, targets = [], fieldConfig: { defaults, overrides = [] } }) =>
      targets.flatMap(({ refId, expr }) => {
        const override = overrides.find(
          ({ matcher }) => matcher.id === 'byFrameRefID' && matcher.options === refId,
        )
        const unit =
          override?.properties.find(({ id }) => id === 'unit')?.value ?? defaults.unit ?? ''
        return unitFor(expr).test(String(unit)) ? [] : [`${name}: "${unit}" for ${expr}`]
      }),
  )

  expect(wrong).toEqual([])
})

/** Names of metrics end in their unit. A count names what it counts. */
function unitFor(expression: string): RegExp {
  if (/ \/ |_ratio\b/.test(expression)) return /^percentunit$/
  if (/rate\(process_cpu_seconds_total/.test(expression)) return /^suffix:cores$/
  if (/rate\(\w+_seconds_(total|sum)\b/.test(expression)) return /^percentunit$/
  if (/^time\(\)|_seconds(_bucket)?\b/.test(expression)) return /^s$/
  if (/\brate\(|_rate_limit\b/.test(expression)) return /^(reqps|suffix:\w+\/s)$/
  if (/_bytes\b/.test(expression)) return /^bytes$/
  return /^(suffix:\w+|prefix:\w+ )$/
}

function overlaps(panels: readonly Panel[]): string[] {
  return panels.flatMap(({ title, gridPos: one }, at) => {
    const others = panels.slice(at + 1).filter(({ gridPos: two }) => {
      const isBeside = one.x + one.w <= two.x || two.x + two.w <= one.x
      const isBelow = one.y + one.h <= two.y || two.y + two.h <= one.y
      return !isBeside && !isBelow
    })
    const wide = one.x + one.w > 24 ? [`${title} is too wide`] : []
    return [...wide, ...others.map((other) => `${title} is on ${other.title}`)]
  })
}

test('an alert has a severity, and says what to do next with commands that exist', () => {
  const alerts = rulesOf('alerts.yml')
  const texts = alerts.map(({ annotations }) => annotations?.['description'] ?? '')
  const known = allCommands.map(({ usage }) => usage.split(' ')[0]!)
  const named = texts.flatMap((text) =>
    [...text.matchAll(/"forecourt (\w+)/g)].map(([, name]) => name!),
  )

  expect(named.length).toBeGreaterThan(10)
  expect(named.filter((name) => !known.includes(name))).toEqual([])
  expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length)
  for (const { alert, labels, annotations } of alerts)
    expect({ alert, ...labels, ...annotations }).toEqual({
      alert: expect.stringMatching(/^Forecourt[A-Z]\w+$/),
      severity: expect.stringMatching(/^(critical|warning)$/),
      summary: expect.stringMatching(/\w/),
      description: expect.stringMatching(/^.{40,}\.$/),
    })
})

test('every recorded metric is used', () => {
  const used = [...rulesOf('recording-rules.yml'), ...rulesOf('alerts.yml')].flatMap(({ expr }) =>
    metricsIn(expr),
  )
  const recorded = rulesOf('recording-rules.yml').map(({ record }) => record!)

  expect(recorded.filter((name) => !used.includes(name))).toEqual([])
})
