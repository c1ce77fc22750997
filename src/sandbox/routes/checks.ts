import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import {
  listPastCarHistory,
  listPastPpsr,
  runCarHistory,
  searchPpsr,
  watchPpsr,
} from '../../api/contract/appraisal/checks.ts'
import type { CheckKind } from '../../api/contract/appraisal/past-checks.ts'
import type { JsonPath } from '../../values/json-path.ts'
import { type Call, type Endpoint, serve } from '../call.ts'
import {
  lastCheckedAt,
  maxUrgent,
  type VehicleCheck,
  type WatchStatus,
  watchStatusAt,
} from '../checks.ts'
import { fieldsAt } from '../lifecycle.ts'
import { checkPdf } from '../pdf.ts'
import { Refusal } from '../refusal.ts'
import { encoded, type JsonObject, valuesAt } from '../render.ts'
import { samples } from '../samples.ts'
import type { SandboxState } from '../sandbox-state.ts'
import { pdfLinkLifeMs, serveSigned, signLink } from '../signed-link.ts'
import { groupEvaluation } from './requests.ts'

type OnEvaluation = Call<{ readonly evalid: number }>

/** The subject of a check: the vehicle of an evaluation, for the caller. */
type Subject = Pick<VehicleCheck, 'groupId' | 'rooftopUid' | 'evalId' | 'vin'>

/** The PPSR and Car History checks. */
export const checkEndpoints: readonly Endpoint[] = [
  /** A search on the VIN at any stage; it starts a fresh watch [A §3, §7 /ppsrsearch]. */
  serve(searchPpsr, (call) => {
    const subject = checkSubject(call)
    const { now, service } = call
    takeSearch(subject, service)
    const check = service.checks.add({ kind: 'ppsr', searchedAt: now, ...subject })
    const { certificateNumber, counts } = check
    return valuesAt(
      service.wire.appraisal.ppsrCertificate,
      { certificateNumber, ...counts },
      renderCheck(check, 'ppsrCertificate', service, now),
    )
  }),
  /** A report that takes some time; only one runs at a time for an evaluation [A §7 /carhistory, §8]. */
  serve(runCarHistory, async (call) => {
    if (call.caller.rooftop.carHistory === false)
      throw new Refusal(403, 'Car History is not enabled for this dealership')
    const subject = checkSubject(call)
    const { service } = call
    const check = await service.checks.runAlone(subject.evalId, () => runReport(subject, service))
    if (check === undefined) throw new Refusal(429, 'Request in progress, please wait')
    return renderCheck(check, 'carHistory', service, service.clock.now())
  }),
  /** Certificates of the dealer group for the VIN, newest first, each with a fresh link [A §4]. */
  serve(listPastPpsr, (call) => past(call, 'ppsr', () => ({}))),
  /** Reports of the dealer group for the VIN, each with the certificate that existed when it was made [A §2, §4]. */
  serve(listPastCarHistory, (call) =>
    past(call, 'car_history', (check) => ({
      SearchNumber: check.searchNumber,
      CertificateNumber: call.service.checks.certificateOf(check)?.certificateNumber ?? null,
    })),
  ),
  /** Result of the daily checks of every PPSR search of the dealer group on the VIN, newest first [A §4 /ppsrwatch]. */
  serve(watchPpsr, (call) => {
    const { now, service } = call
    const { rendering } = service
    const { wire, decoys } = rendering
    const checks = service.checks.past('ppsr', checkSubject(call), now)
    const statuses = checks.map((check) => watchStatus(check, service, now))
    const items = checks.map((check, index) => {
      const values = {
        checkId: check.id,
        checkStatus: statuses[index],
        checkedAt: lastCheckedAt(check, now),
      }
      const body = valuesAt(wire.watch, encoded(rendering, 'watch', values))
      return { check, body, signedLink: signedPdf(check, service, now) }
    })
    const bodies = decoys?.watchedChecks(items) ?? items.map(({ body }) => body)
    const list = encoded(rendering, 'watch', { checks: bodies })
    const body = valuesAt(wire.watch, list, { WatchStatus: maxUrgent(statuses) })
    return decoys?.watch(body, checks) ?? body
  }),
]

/** A failed search does not count; a search beyond the limit of the vehicle counts as a call of the day. */
function takeSearch({ rooftopUid, groupId, vin }: Subject, { limits }: SandboxState): void {
  if (vin === samples.auSearchFails.vin) throw new Refusal(400, 'The PPSR search failed')
  if (!limits.take(`ppsr at ${rooftopUid}`, limits.current.ppsrPerDay))
    throw new Refusal(429, 'Daily throttle: no more PPSR searches at this rooftop today')
  if (!limits.take(`ppsr of ${groupId} on ${vin}`, limits.current.ppsrPerVehicle))
    throw new Refusal(400, 'Daily limit of this vehicle: no more PPSR searches on its VIN today')
}

async function runReport(subject: Subject, service: SandboxState): Promise<VehicleCheck> {
  const { limits, checks, clock } = service
  if (!limits.take(`car history at ${subject.rooftopUid}`, limits.current.carHistoryPerDay))
    throw new Refusal(429, 'Daily throttle: no more Car History reports at this rooftop today')
  // The wait does not keep the process alive, so that `close` is quick.
  await wait(limits.current.carHistoryMs, undefined, { ref: false })
  if (subject.vin === samples.auHistoryFails.vin)
    throw new Refusal(500, 'Failed to get vehicle history')
  return checks.add({ kind: 'car_history', searchedAt: clock.now(), ...subject })
}

function past(
  call: OnEvaluation,
  kind: CheckKind,
  more: (check: VehicleCheck) => JsonObject,
): readonly Readonly<JsonObject>[] {
  const { now, service } = call
  const items = service.checks.past(kind, checkSubject(call), now).map((check) => ({
    check,
    body: {
      WatchStatus: watchStatus(check, service, now),
      ...renderCheck(check, 'pastCheck', service, now),
      ...more(check),
    },
    signedLink: signedPdf(check, service, now),
  }))
  return service.rendering.decoys?.pastChecks(kind, items) ?? items.map(({ body }) => body)
}

/** A report is not monitored: it has the status of the certificate that existed when it was made. */
function watchStatus(check: VehicleCheck, { checks }: SandboxState, now: Date): WatchStatus {
  const watched = check.kind === 'ppsr' ? check : (checks.certificateOf(check) ?? check)
  return watchStatusAt(watched, now)
}

/** 404 when the evaluation does not exist or is of another group, 400 when it has no 17-character VIN [A §7]. */
function checkSubject(call: OnEvaluation): Subject {
  const { fields, caller, now } = call
  const evaluation = groupEvaluation(call, fields.evalid)
  if (evaluation === undefined) throw new Refusal(404, 'Evaluation not found')
  const vin = fieldsAt(evaluation, now).vin?.trim().toUpperCase()
  if (vin?.length !== 17) throw new Refusal(400, 'The evaluation has no 17-character VIN')
  const { uid: rooftopUid, groupId } = caller.rooftop
  return { groupId, rooftopUid, evalId: evaluation.evalId, vin }
}

function renderCheck(
  check: VehicleCheck,
  group: 'pastCheck' | 'ppsrCertificate' | 'carHistory',
  service: SandboxState,
  now: Date,
): JsonObject {
  const { wire, rendering } = service
  const names: Readonly<Record<'id' | 'createdAt' | 'pdfUrl', JsonPath>> = wire.appraisal[group]
  const pdfUrl = signedPdf(check, service, now)
  const values = { id: check.id, createdAt: check.searchedAt, pdfUrl }
  return valuesAt(names, encoded(rendering, group, values))
}

/** A link to the PDF at the appraisal service. */
export function signedPdf({ kind, ref }: VehicleCheck, { origin }: SandboxState, now: Date) {
  return signLink(origin, `/pdf/${kind}/${ref}.pdf`, now.getTime() + pdfLinkLifeMs)
}

/** Serves the PDFs of the links: 403 for an expired or forged link, 404 for an unknown check. */
export function serveCheckPdfs(app: FastifyInstance, { clock, checks }: SandboxState): void {
  serveSigned<{ kind: string; ref: string }>(
    app,
    clock,
    '/pdf/:kind/:ref.pdf',
    async ({ kind, ref }, reply) => {
      const check = checks.withRef(kind, ref)
      if (check === undefined) return reply.code(404).send({ error: 'There is no such check' })
      return reply.type('application/pdf').send(checkPdf(check))
    },
  )
}
