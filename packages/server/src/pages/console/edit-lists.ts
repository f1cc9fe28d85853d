import { type ConsoleForm, LISTS, type ListName } from './console-form.ts'

/** A change of the routes or directories, as the value of a button: `add routes`, `remove routes 2`, `raise routes 2`. */
export type Edit = `add ${ListName}` | `${'remove' | 'raise' | 'lower'} ${ListName} ${number}`

/** @returns null if the text is no change of a list */
export function editedForm(form: ConsoleForm, edit: string): ConsoleForm | null {
  const [, action, name, position] =
    /^(add|remove|raise|lower) (routes|directories)(?: (\d{1,3}))?$/.exec(edit) ?? []
  if (action === undefined) return null
  const list = name as ListName
  const order = Array.from({ length: form[list] }, (_, i) => i)
  if (action === 'add') order.push(order.length)
  else move(order, action, Number(position))
  return reordered(form, list, order.slice(0, LISTS[list].most))
}

function move(order: number[], action: string, at: number): void {
  if (order[at] === undefined) return
  const [item] = order.splice(at, 1) as [number]
  if (action !== 'remove') order.splice(Math.max(0, action === 'raise' ? at - 1 : at + 1), 0, item)
}

/** @param order the former position of each item */
function reordered(form: ConsoleForm, list: ListName, order: readonly number[]): ConsoleForm {
  const { codec } = LISTS[list]
  const others = [...form.fields].filter(([name]) => !name.startsWith(`${list}.`))
  const fields = new Map(others)
  for (const [to, from] of order.entries()) {
    const names = codec.names(`${list}.${to}`)
    for (const [i, source] of codec.names(`${list}.${from}`).entries()) {
      fields.set(names[i] as string, form.fields.get(source) ?? '')
    }
  }
  return { ...form, fields, [list]: order.length }
}
