import { type ConsoleForm, fieldOf, LISTS, type ListName } from './console-form.ts'
import { itemsIn, POLICY } from './policy-codecs.ts'

/** What is wrong with each field, in sentences. */
export type FieldMistakes = ReadonlyMap<string, readonly string[]>

export interface SortedMistakes {
  readonly fields: FieldMistakes
  /** Those that concern no field of the form. */
  readonly others: readonly string[]
}

/** Assigns the messages of the gateway's reader, which begin with a place such as `policy.routes[0].allow[2]`, to the fields of the form. */
export function sortMistakes(form: ConsoleForm, mistakes: readonly string[]): SortedMistakes {
  const fields = new Map<string, string[]>()
  const others: string[] = []
  for (const mistake of mistakes) {
    const { place, rest } = partsOf(mistake)
    const { name, index } = fieldAt(form, place)
    if (name === null) others.push(`${plain(mistake)}.`)
    else fields.set(name, [...(fields.get(name) ?? []), sentence(form, name, index, rest)])
  }
  return { fields, others }
}

/** The place is written as the names of fields are: `routes.0.allow.2`. */
export function partsOf(mistake: string): { readonly place: string; readonly rest: string } {
  const [, path = '', rest = mistake] = /^(\S+) (.*)$/s.exec(mistake) ?? []
  const place = path.replace(/^policy(\.|$)/, '').replace(/\[(\d+)\]/g, '.$1')
  return { place, rest }
}

interface FieldPlace {
  readonly name: string | null
  /** The position in a list that is typed into one field. */
  readonly index: number | null
}

function fieldAt(form: ConsoleForm, place: string): FieldPlace {
  if (/^audiences\.\d+$/.test(place)) return { name: 'origin', index: Number(place.slice(10)) }
  if (place === 'directories' && form.directories > 0)
    return { name: 'directories.0.url', index: null }
  const names = namesNear(form, place)
  if (names.includes(place)) return { name: place, index: null }
  const [, parent = '', index] = /^(.*)\.(\d+)$/.exec(place) ?? []
  if (names.includes(parent)) return { name: parent, index: Number(index) }
  // An object as a whole, such as `limit`: its first field.
  const first = names.find((name) => place !== '' && name.startsWith(`${place}.`))
  return { name: first ?? null, index: null }
}

function namesNear(form: ConsoleForm, place: string): readonly string[] {
  const [, list, index] = /^(routes|directories)\.(\d+)/.exec(place) ?? []
  if (list === undefined) return POLICY.names('')
  const name = list as ListName
  return Number(index) < form[name] ? LISTS[name].codec.names(`${name}.${index}`) : []
}

function sentence(form: ConsoleForm, name: string, index: number | null, rest: string): string {
  const typed = fieldOf(form, name)
  const value = index === null ? typed : (itemsIn(typed)[index] ?? '')
  if (/requires? .*audiences|needs .*audiences/.test(rest)) {
    return 'Enter the origin of your site: without it, no signature counts as proof.'
  }
  const [, accepted] = /^(?:must be|takes) (.*)$/s.exec(rest) ?? []
  if (accepted === undefined) return capital(plain(rest))
  return value === '' ? `Enter ${plain(accepted)}.` : `“${value}” must be ${plain(accepted)}.`
}

/** Without the marks of code. */
export function plain(text: string): string {
  return text.replaceAll('`', '')
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
