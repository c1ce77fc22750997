// Words of rows that are not vehicles, in the languages of the alias table.

const totals =
  '(?:grand |sub[- ]?|gesamt[- ]?|zwischen[- ]?|sous[- ]?|end[- ]?)?(?:totals?|totaux|totales|totale|totaal|sums?|summen?|sommes?|suma|gesamt|ergebnis|saldo)'
const others = String.raw`sub ?tot\.?|gesamtergebnis|teilergebnis|insgesamt|zwischensumme|averages?|avg\.?|means?|median|durchschnitt|mittelwert|moyennes?|médiane|mediane|promedio|media|mediana|counts?|anzahl|nombre|effectif|cuenta|recuento|cantidad|stückzahl|min\.?|minimum|mínimo|minimo|kleinster wert|max\.?|maximum|máximo|maximo|std ?dev|highest|lowest`
const arabic =
  '(?:ال)?(?:إجمالي|اجمالي|مجموع|متوسط|معدل|عدد)(?: (?:الفرعي|الكلي|العام|فرعي|كلي|عام))?|(?:الحد )?(?:الأدنى|الأقصى|الادنى|الاقصى|أدنى|أقصى)'
const wholeLabel = new RegExp(
  String.raw`^(?:${totals}|${others}|${arabic})(?:[:=(-].*| (?:général|general|geral)|\.{0,3})?$`,
  'iu',
)
/** `Total vehicles: 40`, `Toyota Total`, `Somme Toyota`, `إجمالي السيارات`. */
const beginning = new RegExp(
  String.raw`^(?:${totals}|sub ?tot|count|average|avg|anzahl|durchschnitt|moyenne|nombre|promedio|gesamtergebnis|(?:ال)?(?:إجمالي|اجمالي|مجموع|متوسط))(?![\p{L}\p{M}\p{N}])`,
  'iu',
)
const end =
  /[\s:-](?:(?:grand |sub[- ]?)?totals?|ergebnis|gesamt|summe|count|average|avg|sum|anzahl|mittelwert|(?:ال)?(?:إجمالي|اجمالي|مجموع|متوسط))\.?:?$/iu
const page =
  /(?<![\p{L}\p{N}])(?:page|seite|blatt|página|pagina|pág\.?|pag\.?|صفحة|الصفحة)\s*(?:n[°ºo]\.?\s*|:\s*)?\p{Nd}{1,5}(?![\p{L}\p{N}])/iu

/** Whether a cell is the label of a total, an average, a minimum or a count. */
export function isSummaryLabel(text: string): boolean {
  if (text.length > 60) return false
  return wholeLabel.test(text) || beginning.test(text) || end.test(text)
}

/** Whether a row has the number of a page: `Page 1 of 3`, in one cell or in several. */
export function isPageLine(text: string): boolean {
  return text.length <= 200 && page.test(text)
}
