import { checkHistory, searchNewPpsr, watchNewPpsr } from '../../contract/vehicle-data/checks.ts'
import { serveVehicleData } from '../call.ts'
import { watchStatusAt } from '../check-watch.ts'
import { requireDecoded } from '../covered-vehicle.ts'
import { plainVin } from '../decode-vin.ts'
import { historyOf } from '../history-report.ts'
import { Refusal } from '../refusal.ts'
import { type JsonObject, setAtPath } from '../render.ts'
import { samples } from '../samples.ts'
import { pdfLinkLifeMs, signLink } from '../signed-link.ts'
import { pdfPath } from './checks.ts'

/** A history check of a vehicle of any region, since the sources are in the EU and the US [V §1, §4 /v1/historyCheck]. */
export const historyCheck = serveVehicleData(checkHistory, ({ fields, now, service }) => {
  const vin = plainVin(fields.vin)
  const known = requireDecoded(vin, { world: service.world, now, regions: ['US', 'GCC', 'AU'] })
  const report = historyOf(vin, known, now)
  const names = service.wire.vehicleData.historyCheck
  const body: JsonObject = {}
  setAtPath(body, names.clean, report.isClean)
  setAtPath(body, names.titles, report.titles)
  setAtPath(body, names.brands, report.brands)
  setAtPath(body, names.salvage, report.salvage)
  setAtPath(body, names.accidents, report.accidents)
  setAtPath(body, names.thefts, report.thefts)
  setAtPath(body, names.liens, report.liens)
  return body
})

/** The owner of these searches: the key of these APIs belongs to no dealer group, and no group sees them. */
const owner = { groupId: 'vehicle-data', rooftopUid: '', evalId: 0 }

/** A search as at the appraisal service: watched for 14 days, with a link that is valid for a week. */
export const newPpsrSearch = serveVehicleData(searchNewPpsr, ({ fields, now, service }) => {
  const vin = plainVin(fields.vin)
  requireDecoded(vin, { world: service.world, now, regions: ['AU'] })
  if (vin === samples.auSearchFails.vin) throw new Refusal(400, 'The PPSR search failed')
  const check = service.checks.add({ kind: 'ppsr', vin, searchedAt: now, ...owner })
  const names = service.wire.vehicleData.ppsrSearch
  const body: JsonObject = {}
  const expiresAt = now.getTime() + pdfLinkLifeMs
  setAtPath(body, names.searchId, check.ref)
  setAtPath(body, names.pdfUrl, signLink(service.origin, pdfPath(check), expiresAt))
  setAtPath(body, names.securityInterests, check.counts.securityInterests)
  setAtPath(body, names.writeOffs, check.counts.writeOffs)
  setAtPath(body, names.stolen, check.counts.stolen)
  return body
})

/** The status that the watch of the appraisal service would have [V §3]. */
export const newPpsrWatch = serveVehicleData(watchNewPpsr, ({ fields, now, service }) => {
  const check = service.checks.withRef('ppsr', fields.searchId)
  if (check?.groupId !== owner.groupId) throw new Refusal(404, 'Search not found')
  const body: JsonObject = {}
  setAtPath(body, service.wire.vehicleData.ppsrSearch.watchStatus, watchStatusAt(check, now))
  return body
})
