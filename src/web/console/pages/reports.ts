import { html } from '../../../values/html.ts'
import { earliest } from '../../../values/instant.ts'
import { definePage } from '../page.ts'
import { badge } from '../parts/badge.ts'
import { readFreshness, readListFreshness } from '../parts/freshness.ts'
import { agoText } from '../parts/instant.ts'
import { table } from '../parts/table.ts'
import { readRooftops } from '../reports/read-report.ts'
import { reportSpecs } from '../reports/specs.ts'

const allStreams = [...new Set(reportSpecs.flatMap(({ streams }) => streams))]

export const reports = definePage({
  path: '/reports',
  title: 'Reports',
  question: 'What do the data answer, and how fresh is each answer?',
  roles: ['engineer', 'viewer'],
  navigation: 'Reports',
  async read({ db }) {
    const rooftops = await readRooftops(db)
    const ids = rooftops.map(({ id }) => id)
    const fresh = await readFreshness(db, allStreams, ids)
    const lists = await readListFreshness(db, ids)
    return reportSpecs.map(({ view, question, streams, usesStockLists }) => {
      const ofStreams = fresh.filter(({ what }) => streams.includes(what))
      const parts = usesStockLists === true ? [...ofStreams, ...lists] : ofStreams
      const stale = new Set(parts.flatMap((part) => part.stale))
      const isOnlyOld =
        stale.size > 0 &&
        [...ofStreams.map((part) => part.stale.length), ...lists.map((list) => list.missing)].every(
          (count) => count === 0,
        )
      return {
        ...{ view, question, streams, usesStockLists: usesStockLists === true },
        ...{ rooftops: rooftops.length, stale: [...stale], isOnlyOld },
        oldestAt: earliest(parts.map((part) => part.oldestAt)),
      }
    })
  },
  draw(found, { now }) {
    return table({
      caption: 'Each is a view of the schema mart, for BI tools too',
      columns: ['Question', 'Reads', 'Fresh'],
      rows: found.map((report) => [
        html`<a href="/console/reports/${report.view}">${report.question}</a><small><code>${report.view}</code></small>`,
        [...report.streams, ...(report.usesStockLists ? ['stock lists'] : [])].join(', '),
        html`${report.stale.length === 0 ? badge('ok', 'ok') : badge(report.isOnlyOld ? 'old stock list' : 'stale', 'warn')}<small>${
          report.oldestAt === null ? 'not all were loaded' : agoText(report.oldestAt, now)
        }</small>`,
      ]),
      empty: '',
    })
  },
})
