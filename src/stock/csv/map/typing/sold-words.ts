// Words by which a list says that a vehicle is sold, in the languages of the alias table.

const gone =
  /^(sold|wholesaled|wholesale(?=$| ?[-–:,(/]| \d)|delivered|retailed|vendue?s?|livrée?s?|verkauft|ausgeliefert|vendid[oa]s?|entregad[oa]s?|(?:ال)?مباع[ةه]?|بيعت?|تم البيع|تم التسليم)(?![\p{L}\p{M}])/iu
const notYet =
  /\b(not(?! (yet )?(delivered|collected|picked ?up|handed ?over|settled|registered))|subject|(?:awaiting|pending)(?! (delivery|collection|pick-?up|handover|settlement))|until|unless|cancell?ed|declined|fell|fallen|unwound)\b/i
/** `Sold with a warranty`, `Delivered to dealer`: a vehicle on hand. */
const sentence =
  /^(?:sold (?:with|as|new|by|from|without)|delivered to (?:us|dealer|dealership|stock|branch|site|showroom))\b/i
const longest = 60

/** Whether a text says that the vehicle was sold, delivered or traded. */
export function isSoldText(text: string): boolean {
  return text.length <= longest && gone.test(text) && !notYet.test(text) && !sentence.test(text)
}

const onHand =
  /^(available|in stock|on hand|for sale|reserved|on hold|verfügbar|reserviert|auf lager|disponible|réservée?|en stock|reservad[oa]|متاح[ةه]?|متوفر[ةه]?|معروض[ةه]?|محجوز[ةه]?|للبيع)$/iu

/** Whether a text says whether a vehicle is sold or on hand. */
export function isStatusText(text: string): boolean {
  return onHand.test(text) || isSoldText(text)
}

const yes = /^(yes|y|true|t|1|x|✓|✔|☑|ja|j|wahr|oui|o|vrai|sí|si|s|verdadero|نعم|صحيح)$/iu
const no =
  /^(no|n|false|f|0|nein|falsch|non|faux|falso|لا|خطأ|غير متاح[ةه]?|غير متوفر[ةه]?|not available|unavailable|nicht verfügbar|indisponible|no disponible)$/iu
const day = /^(?=.*[1-9])\d{1,4}[-/. ](\d{1,2}|\p{L}{3,9})[-/. ]\d{2,4}(?: .*)?$/u
const serial = /^[34]\d{4}(\.\d+)?$/
const buyer =
  /(sold|verkauft|vendue?|vendid[oa]) (to|an|à|a)$|buyer|purchaser|käufer|acheteur|comprador|المشتري/iu

/** Whether a cell of a column called Sold, Sold date or Sold to says that the vehicle is sold. */
export function isSoldCell(text: string, header: string): boolean {
  if (isSoldText(text) || yes.test(text) || day.test(text) || serial.test(text)) return true
  if (buyer.test(header.trim()) && /\p{L}{2}/u.test(text) && !no.test(text)) return true
  return isSaleTrace(header) && /[\p{L}1-9]/u.test(text) && !no.test(text)
}

const sale =
  /\b(deal|customer|client|buyer|purchaser|deposit|contract|invoice[ds]?|invoicing|delivered|delivery|del'?d|del\.? date|dlvd|dlvy|handover|settle(d|ment)|kunde|käufer|rechnung|client|acheteur|facture|cliente|comprador|factura)\b/iu
const notSale =
  /\b(address|phone|mobile|e-?mail|rating|notes?|price|cost|amount|value|total|type|fee|method)\b/i

const soldFor = /\bsold (?:for|price|amount)\b/i

/** Whether a column is usually filled for sold vehicles alone: a customer, the number of a deal, the date of an invoice. */
export function isSaleTrace(header: string): boolean {
  return soldFor.test(header) || (sale.test(header) && !notSale.test(header))
}

const maybeGone =
  /^(?:not[ _-]?available|unavailable|out[ _-]of[ _-]stock|not in stock|off[ _-]?(?:market|stock)|inactive|not active|withdrawn|cancell?ed|transferred(?: out)?|removed|deleted|archived|written[ _-]?off|scrapped|disposed|exported|returned|settled|finali[sz]ed|invoiced|(?:under |on )?contract(?:ed)?|s|sld|snd|dlvd|nicht verfügbar|indisponible|no disponible|غير متاح[ةه]?|غير متوفر[ةه]?)$/iu
const yesOrNo = /^(?:is )?(?:active|availability)$/i

/** `Retail Sold`, `Pre-sold` */
const soldBehind = /(?<!\b(?:be|being|never) )\bsold\b/i

function isMaybeGone(text: string): boolean {
  if (text.length > longest) return false
  return maybeGone.test(text) || (soldBehind.test(text) && !notYet.test(text) && !gone.test(text))
}

/** Whether a status says that the vehicle may be for sale no longer: a person decides what the dealer means by it. */
export function mayHaveLeft(text: string, header: string): boolean {
  return isMaybeGone(text) || (yesOrNo.test(header.trim()) && no.test(text))
}

/** Whether a cell of a column called Available or In stock says that the vehicle is not. In a status, N may mean New. */
export function isUnavailable(text: string, header: string): boolean {
  const isNo = no.test(text) && !(/^n$/i.test(text) && /status/i.test(header))
  return isNo || isMaybeGone(text) || isSoldText(text)
}

const nouns =
  '(?:vehicles?|cars?|units?|stock|used|new|fahrzeuge?|autos?|wagen|véhicules?|voitures?|vehículos?|coches?|unidades|(?:ال)?(?:سيارات|مركبات))'
const soldTitle = new RegExp(
  String.raw`^\P{L}*(?:(?:already|bereits|schon|déjà|ya|${nouns})\s+)*(?:sold|wholesaled|delivered|verkaufte?[nrs]?|ausgeliefert|vendue?s?|livrée?s?|vendid[oa]s?|entregad[oa]s?|(?:ال)?مباع[ةه]?|تم بيعها|تم البيع)(?:\s+${nouns})*(?:\s*[-–:(,.]?\s*(?:(?:in|this|last|during|since|im|seit|diesen|en|ce|cette|este|esta|depuis|desde|خلال|هذا|\p{Nd}|[-–:(]|/ ).*|(?:\p{L}+\s)?\p{Nd}{4})?)?\P{L}*$`,
  'iu',
)

const salesTitle =
  /^\P{L}*(?:sales|verkäufe|ventes|ventas) (?:in|this|last|during|since|im|seit|diesen|en|ce|cette|este|esta|depuis|desde) /iu

const month =
  / (?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?$/i

/** Whether a row is the title of a block of sold vehicles: `SOLD`, `Sold Oct`, `Verkaufte Fahrzeuge`, `Sold in October`, `Sales this month`. */
export function isSoldTitle(text: string): boolean {
  if (text.length > longest || isColourLegend(text)) return false
  return soldTitle.test(text.replace(month, '')) || salesTitle.test(text)
}

const inBrackets = /[*([<{]\s?(?:sold|verkauft|vendue?|vendid[oa]|مباع[ةه]?)\s?[*)\]>}]/iu
const inCapitals = /^SOLD(?=\s?[-–:*/])|(?<!\b(?:NOT|BE|BEING|NEVER))\sSOLD[!*.]{0,3}$/

/** Whether a name has a mark beside it that says the vehicle is sold: `Corolla *SOLD*`, `SOLD - Corolla`; not `MUST BE SOLD`. */
export function hasSoldMark(text: string): boolean {
  return inBrackets.test(text) || inCapitals.test(text)
}

const colour =
  /^(?:yellow|green|red|pink|orange|blue|gr[ea]y|purple|colou?red|highlight(?:ed)?|shaded|italics?|gelb|grün|rot|jaune|vert|rouge|amarillo|verde|rojo)(?: (?:cells?|rows?|lines?|text|cars?|units?|vehicles?|highlight))?$/iu
const soldCars = /^(?:sold|verkauft|vendue?s?|vendid[oa]s?)(?: (?:cars?|units?|vehicles?))?$/iu

/** Whether a note says that a colour marks sold vehicles: `Yellow = sold`. */
export function isColourLegend(text: string): boolean {
  if (text.length > longest) return false
  const sides = text.split(/=|:| [-–] | (?:is|are|means?|in) /i).map((side) => side.trim())
  return (
    sides.length === 2 && [colour, soldCars].every((part) => sides.some((side) => part.test(side)))
  )
}

/** The warning about such a note. */
export const soldByColour = {
  code: 'SOLD_BY_COLOUR',
  severity: 'warning',
  hint: 'a note says that sold vehicles have a colour, which is not read: they were loaded as stock',
} as const
