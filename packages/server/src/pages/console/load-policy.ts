import { type ConsoleForm, fieldOf, formOfPolicy, LISTS } from './console-form.ts'
import { partsOf, plain } from './field-mistakes.ts'
import { isRecord } from './policy-codecs.ts'

export interface LoadedPolicy {
  readonly form: ConsoleForm
  /** What could not be loaded, in sentences. */
  readonly problems: readonly string[]
}

/**
 * Fills the form with a policy, or with the `policy` and `audiences` of a file of `countersign-gateway`. Values that the gateway
 * would refuse are loaded too, so that they can be corrected in their fields.
 * @param form its other fields are kept
 * @param mistakesOf what the gateway's reader says about a policy
 */
export function loadPolicy(
  form: ConsoleForm,
  json: string,
  mistakesOf: (policy: unknown) => readonly string[],
): LoadedPolicy {
  let input: unknown
  try {
    input = JSON.parse(json)
  } catch (error) {
    const fields = new Map([...form.fields, ['json', json]])
    return {
      form: { ...form, fields },
      problems: [`This is not JSON: ${(error as Error).message}`],
    }
  }
  const isFile = isRecord(input) && ['service', 'policy', 'audiences'].some((each) => each in input)
  const file: Readonly<Record<string, unknown>> = isFile
    ? (input as object as never)
    : { policy: input }
  const { policy = {}, audiences } = file
  const loaded = formOfPolicy(form, policy)
  const mistakes = loaded.lost.length === 0 ? [] : mistakesOf(policy)
  const problems = loaded.lost.flatMap((place) => problemsAt(place, policy, mistakes))
  if (audiences !== undefined && !isTextList(audiences))
    problems.push('audiences must be a list of origins.')
  const origin = isTextList(audiences) ? audiences.join(' ') : fieldOf(form, 'origin')
  const fields = new Map([
    ...loaded.form.fields,
    ['origin', origin],
    ['json', problems.length === 0 ? '' : json],
  ] as const)
  return { form: { ...loaded.form, fields }, problems }
}

function problemsAt(place: string, policy: unknown, mistakes: readonly string[]): string[] {
  const there = mistakes.filter((mistake) => {
    const { place: other } = partsOf(mistake)
    return other === place || other.startsWith(`${place}.`)
  })
  if (there.length > 0) return there.map((each) => `${plain(each)}.`)
  if ((place === 'routes' || place === 'directories') && isRecord(policy)) {
    const { most } = LISTS[place]
    return [`The console edits up to ${most} ${place}. This policy has more.`]
  }
  return [`policy.${place} cannot be edited here: it contains characters that a field cannot show.`]
}

function isTextList(value: unknown): value is readonly string[] {
  return (
    Array.isArray(value) && value.every((each) => typeof each === 'string' && /^\S+$/.test(each))
  )
}
