import type { Finding } from '../../../api/learn/decide.ts'
import { unexaminedGroups } from '../../../api/learn/unexamined.ts'
import { html } from '../../../values/html.ts'
import type { JsonPath } from '../../../values/json-path.ts'
import { plural } from '../../../values/text.ts'
import { newestFindings } from '../names/stored-answers.ts'
import { definePage } from '../page.ts'
import { badge, type Tone } from '../parts/badge.ts'
import { numbers, table } from '../parts/table.ts'

const tones: Readonly<Record<Finding['state'], Tone>> = {
  ...{ elsewhere: 'bad', refuted: 'bad', absent: 'warn', ambiguous: 'quiet', suggested: 'quiet' },
  ...{ doubtful: 'quiet', unproved: 'quiet', decided: 'quiet', confirmed: 'ok', unseen: 'quiet' },
}
const order = Object.keys(tones)

export const names = definePage({
  path: '/names',
  title: 'Names',
  question: 'Does the service use the names that the config says?',
  roles: ['engineer', 'viewer'],
  navigation: 'Names',
  isMinor: true,
  async read({ db, config }) {
    const { answers, findings } = await newestFindings(db, config)
    return {
      answers,
      findings: findings.toSorted(
        (a, b) =>
          Number(b.mustChange) - Number(a.mustChange) ||
          order.indexOf(a.state) - order.indexOf(b.state),
      ),
      others: unexaminedGroups(config.wire, findings),
    }
  },
  draw({ answers, findings, others }) {
    const wrong = findings.filter(({ mustChange }) => mustChange).length
    const held = findings.filter(({ isHeld }) => isHeld).length
    return html`<p>${
      wrong === 0
        ? answers === 0
          ? 'No answer is stored yet.'
          : 'Nothing has to be changed.'
        : html`${plural(wrong, 'setting')} must be changed, or decided. <code>forecourt wire learn --stored</code> reads more answers; with <code>--write</code> it
puts what is proved into the config file. Restart the worker, the scheduler and serve, which still use the old names; then <code>forecourt replay</code> and <code>forecourt quarantine retry</code> correct what is stored.`
    }${
      held === 0
        ? ''
        : html` ${plural(held, 'column')} ${held === 1 ? 'is' : 'are'} held: empty, until <code>--write</code> deletes from <code>wire.appraisal.held</code> what is proved or
decided, and with <code>--keep</code> what has that step.`
    }</p>
${table({
  caption: `Settings of wire, compared with ${plural(answers, 'stored answer')}`,
  columns: ['Setting', 'State', 'Path', 'Evidence'],
  rows: findings.map((found) => [
    html`<code>${found.setting}</code>`,
    html`${badge(found.state, tones[found.state])}${found.nextStep && html` <small>${found.nextStep}</small>`}${found.isHeld ? html` <small>held</small>` : ''}`,
    html`<code>${pathText(found.configured)}</code>${[
      ...(found.path === null ? found.candidates : [{ path: found.path, form: '' }]),
      ...found.byFormAlone.map(({ path, form }) => ({ path, form: `${form}, by form alone` })),
    ]
      .filter(({ path }) => path !== found.configured)
      .map(
        ({ path, form }) =>
          html`<div>→ <code>${pathText(path)}</code> <small>${form}</small></div>`,
      )}`,
    found.evidence,
  ]),
  empty: 'There are no settings.',
})}
${table({
  caption: 'Settings that these answers cannot show',
  columns: ['Group', numbers('Settings'), 'Shown by'],
  rows: others.map(({ group, settings, evidence }) => [
    html`<code>${group}</code>`,
    settings.length,
    html`<code>${evidence}</code>`,
  ]),
  empty: 'None.',
})}`
  },
})

function pathText(path: JsonPath): string {
  return [path]
    .flat()
    .map((one) => (one === '' ? '""' : one))
    .join(', ')
}
