import type { FastifyInstance } from 'fastify'
import { listImages } from '../../contract/appraisal/photos.ts'
import { serve } from '../call.ts'
import type { VirtualClock } from '../clock.ts'
import { isCreated, isVanished } from '../lifecycle.ts'
import { isLivePhotoLink } from '../photo-link.ts'
import { Refusal } from '../refusal.ts'
import { renderPhotos } from '../render.ts'

/** Photos at any stage; 403 also for an evaluation that is not there and for a missing or bad `evalid` [A §7]. */
export const imageList = serve(
  listImages,
  ({ fields, world, caller, now, rendering }) => {
    const evaluation = world.evaluation(fields.evalid)
    if (
      evaluation === undefined ||
      !isCreated(evaluation, now) ||
      isVanished(evaluation, now) ||
      !caller.groupRooftops.some(({ uid }) => uid === evaluation.rooftopUid)
    )
      throw new Refusal(403, 'This key may not access the evaluation, or it does not exist')
    return { Photos: renderPhotos(evaluation, rendering, now) }
  },
  { evalid: 403 },
)

/** What the signed links lead to: a drawing with the photo's id, 403 once the link has expired. */
export function servePhotoFiles(app: FastifyInstance, clock: VirtualClock): void {
  app.get<{
    Params: { evalId: string; file: string }
    Querystring: { expires?: string; signature?: string }
  }>('/photos/:evalId/:file', async (request, reply) => {
    const { evalId, file } = request.params
    const { expires, signature } = request.query
    const path = `/photos/${evalId}/${file}`
    if (!isLivePhotoLink({ path, expires, signature }, clock.now()))
      return reply.code(403).send({ error: 'The link has expired or its signature is wrong' })
    return reply.type('image/svg+xml').send(drawing(Number.parseInt(file, 10)))
  })
}

function drawing(photoId: number): string {
  return (
    '<svg xmlns="http://www.w3.org/2000/svg" width="480" height="320">' +
    `<rect width="480" height="320" fill="hsl(${photoId % 360} 35% 60%)"/>` +
    '<path d="M70 210h340v-40l-60-10-50-50H180l-50 50-60 10z" fill="#fff"/>' +
    '<circle cx="145" cy="215" r="30"/><circle cx="335" cy="215" r="30"/>' +
    `<text x="240" y="300" text-anchor="middle" font-size="20">photo ${photoId}</text></svg>`
  )
}
