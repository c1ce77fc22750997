import {
  checkHistory,
  searchNewPpsr,
  watchNewPpsr,
} from '../../api/contract/vehicle-data/checks.ts'
import { serveVehicleData } from '../call.ts'
import { watchStatusAt } from '../checks.ts'
import { plainVin, requireDecoded } from '../find-vehicle.ts'
import { buildHistory } from '../history-report.ts'
import { Refusal } from '../refusal.ts'
import { valuesAt } from '../render.ts'
import { samples } from '../samples.ts'
import { signedPdf } from './checks.ts'

/** A history check of a vehicle of any region, since the sources are in the EU and the US [V §1, §4 /v1/historyCheck]. */
export const historyCheck = serveVehicleData(checkHistory, ({ fields, now, service }) => {
  const vin = plainVin(fields.vin)
  const known = requireDecoded(vin, { world: service.world, now, regions: ['US', 'GCC', 'AU'] })
  return valuesAt(service.wire.vehicleData.historyCheck, buildHistory(vin, known, now))
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
  const pdfUrl = signedPdf(check, service, now)
  return valuesAt(names, { searchId: check.ref, pdfUrl, ...check.counts })
})

/** The status that the watch of the appraisal service would have [V §3]. */
export const newPpsrWatch = serveVehicleData(watchNewPpsr, ({ fields, now, service }) => {
  const check = service.checks.withRef('ppsr', fields.searchId)
  if (check?.groupId !== owner.groupId) throw new Refusal(404, 'Search not found')
  const { ppsrSearch } = service.wire.vehicleData
  return valuesAt(ppsrSearch, { watchStatus: watchStatusAt(check, now) })
})
