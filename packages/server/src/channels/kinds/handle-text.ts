import { HandleRefusal } from './kind.ts'

/** The longest handle there is: a Matrix ID (https://spec.matrix.org/latest/appendices/#user-identifiers). */
const LONGEST = 255

/**
 * What somebody has entered, without the white space and the invisible marks of writing direction that are copied along
 * with a handle.
 */
export function trimmed(text: string): string {
  return text.replace(/^[\s\p{Cf}]+|[\s\p{Cf}]+$/gu, '')
}

/**
 * What somebody has entered, without the address of the profile around it, and without the `@` before it.
 * @param address of a profile, with the handle as its first group
 */
export function bareHandle(text: string, address: RegExp): string {
  const entered = trimmed(text)
  return (address.exec(entered)?.[1] ?? entered).replace(/^@/, '')
}

/** @throws HandleRefusal with the hint where the handle has another form */
export function requireForm(handle: string, form: RegExp, hint: string): void {
  if (handle.length <= LONGEST && form.test(handle)) return
  throw new HandleRefusal(hint)
}
