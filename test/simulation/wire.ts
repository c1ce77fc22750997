import type { Content, Evaluation, Moment } from './evaluation.ts'

/** What the source and its group call a salesperson. */
export const emailOf = (world: number, salesperson: number) =>
  `Sales.${salesperson}@world-${world}.example`

/** The item of `/geteval` [A §2], as JSON; `dealerId` is that of the rooftop which has it now. */
export function bodyOf(
  evaluation: Evaluation,
  moment: Moment,
  { world, dealerId }: { world: number; dealerId: number },
): string {
  const { content } = moment
  const { salesperson } = content
  return JSON.stringify([
    {
      EvalID: evaluation.evalId,
      VIN: content.vin,
      CreatedAt: new Date(evaluation.createdAt),
      CompletedAt: new Date(evaluation.completedAt),
      UpdatedAt: new Date(moment.updatedAt),
      EntryDate: new Date(evaluation.createdAt).toISOString().slice(0, 19).replace('T', ' '),
      FinalPrice: content.finalPrice,
      UserPrices: content.userPrices.map(({ amount, currency }) => ({ price: amount, currency })),
      UserName: salesperson === null ? null : `Salesperson ${salesperson}`,
      UserEmail: salesperson === null ? null : emailOf(world, salesperson),
      Reconditioning: costOf(content),
      reconditioning_list: content.recon,
      CarPics: [],
      Photos: content.photos.map((photo, index) => ({
        ...photo,
        url: `https://photos.example/${photo.id}.jpg`,
        hero: index === 0,
        heroSource: index === 0 ? 'default' : null,
      })),
      customFields: Object.fromEntries(
        content.customFields.map(({ name, type, value }) => [name, { type, options: null, value }]),
      ),
      DealerID: dealerId,
      Odometer: content.odometer,
      Notes: content.notes,
      CustomerName: content.customer,
    },
  ])
}

/** To three decimals, as money is. */
export function costOf({ recon }: Content): number {
  return Math.round(recon.reduce((sum, { cost }) => sum + cost * 1000, 0)) / 1000
}
