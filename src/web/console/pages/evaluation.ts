import { findRecordRooftops, readProvenanceAt } from '../../../sync/explain/provenance.ts'
import { type Html, html } from '../../../values/html.ts'
import { drawHead, drawKnown } from '../evaluation/draw.ts'
import { evaluationRecords, readPayload, storedPayloads } from '../evaluation/payloads.ts'
import { type CandidateWindow, readEvaluation, type Unknown } from '../evaluation/read.ts'
import { ActionRefused, type ActionRequest, definePage, parseId, ShownOnce } from '../page.ts'
import { badge } from '../parts/badge.ts'
import { evaluationLink } from '../parts/evaluation-link.ts'
import { instant } from '../parts/instant.ts'
import { numbers, table } from '../parts/table.ts'

export const evaluation = definePage({
  path: '/evaluations/:id',
  question: 'Where does this row come from, and what changed?',
  roles: ['engineer', 'viewer'],
  read: readEvaluation,
  title: ({ evalId }) => `Evaluation ${evalId}`,
  head: drawHead,
  draw(data, { config, person, now }) {
    const zone = config.console!.timezone
    if (data.is === 'unknown') return drawUnknown(data, zone)
    if (data.is === 'choice')
      return html`<p>Several rooftops, of different dealer groups, have an evaluation with this number. Which one?</p>
<ul>${data.rooftops.map(({ uid, name }) => html`<li><a href="/console/evaluations/${data.evalId}?rooftop=${encodeURIComponent(uid)}">${name}</a></li>`)}</ul>`
    return drawKnown(data, {
      ...{ zone: data.rooftop.timeZone, mayReveal: person.role === 'engineer', now },
      rawDays: config.retention.rawDays,
    })
  },
  actions: { reveal: { roles: ['engineer'], run: reveal } },
})

/** Shows one payload with its customer: the row of the action says who saw it. */
async function reveal({ db, params, form, config, now }: ActionRequest): Promise<ShownOnce> {
  const gone = new ActionRefused(
    'This payload is no longer stored: a newer one has replaced it, or it was erased. Load the page again.',
  )
  const evalId = parseId(params)
  if (evalId === null) throw gone
  const rooftop = (await findRecordRooftops(db, evalId)).find(({ uid }) => uid === form['rooftop'])
  if (rooftop === undefined) throw gone
  const scope = { config, stream: evaluationRecords, now, rooftops: [], streams: [] }
  const payloads = storedPayloads(await readProvenanceAt(db, rooftop, evalId, scope))
  const payload = payloads.find(({ id }) => id === form['payload'])
  const body = payload && (await readPayload(db, { rooftopId: rooftop.id, evalId }, payload))
  if (!payload || !body) throw gone
  const back = `/console/evaluations/${evalId}?rooftop=${encodeURIComponent(rooftop.uid)}`
  return new ShownOnce(
    `Payload of evaluation ${evalId}`,
    html`<p class="question">What did the service answer to <code>/${payload.endpoint}</code> on ${instant(payload.fetchedAt, rooftop.timeZone, { seconds: true })}?</p>
<p>It may name a customer. That you saw it is recorded under <a href="/console/actions">Actions</a>. This page is not stored: loading it again asks again. Signatures of links are left out. <a href="${back}">Back to the evaluation</a></p>
<pre>${body}</pre>`,
  )
}

function drawUnknown({ after, before, windows }: Unknown, zone: string): Html {
  const neighbours =
    after !== null && before !== null
      ? html`<p>By its number it was created between ${instant(after.at, zone)} (${evaluationLink(after.evalId, null)}) and ${instant(before.at, zone)} (${evaluationLink(before.evalId, null)}).</p>
${drawWindows(windows, zone)}`
      : html`<p>${neighbourText(after?.evalId ?? null, before?.evalId ?? null)}</p>`
  return html`<p><strong>It was never listed as completed.</strong> It may not be completed yet, be at a rooftop that is not in the config, be from before <code>sync.start</code>, or its window was not listed.</p>
${neighbours}`
}

function neighbourText(after: number | null, before: number | null): string {
  if (before !== null)
    return `It is older than everything that is loaded: the first is ${before}. A backfill loads history.`
  if (after !== null)
    return `It is newer than everything that is loaded: the last is ${after}. The next sync may find it.`
  return 'No evaluation is loaded yet.'
}

function drawWindows(windows: readonly CandidateWindow[], zone: string): Html {
  return table({
    caption: 'The certificates of that time, which would hold it; at most 20',
    columns: ['Window', 'Rooftop', 'Listed', numbers('Evaluations'), 'Run'],
    rows: windows.map((one) => [
      html`${instant(one.from, zone)} to ${instant(one.until, zone)}`,
      one.rooftop,
      html`${instant(one.listedAt, zone)} ${one.settled ? badge('settled', 'ok') : badge('not settled yet', 'quiet')}`,
      one.listed,
      html`<a href="/console/runs/${one.runId}">${one.runId}</a>`,
    ]),
    empty: 'No window of that time was listed.',
  })
}
