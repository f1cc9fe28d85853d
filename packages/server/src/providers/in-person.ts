import { type Static, Type } from 'typebox'
import { type IdentityProvider, ProviderRefusal } from './provider.ts'
import { labelField } from './settings-fields.ts'

/** `countersignd owner verify` records under it, whether the host's file names it or not. */
export const IN_PERSON = 'in-person'

/** `{"type": "in-person"}` in the host's file, for another label than ours. */
export const inPersonSettings = () =>
  Type.Object(
    {
      id: Type.Literal(IN_PERSON, { description: `${IN_PERSON}: there is one only` }),
      type: Type.Literal(IN_PERSON),
      label: Type.Optional(labelField()),
      proves: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 200,
          description: 'a sentence of 1 to 200 characters',
        }),
      ),
    },
    { additionalProperties: false },
  )

type InPersonSettings = Static<ReturnType<typeof inPersonSettings>>

/** The host's own check of a document. Nothing can be begun here: the host does it, by countersignd. */
export function inPersonProvider(
  settings: InPersonSettings = { id: IN_PERSON, type: IN_PERSON },
): IdentityProvider {
  const refusal = () => new ProviderRefusal('This is done by whoever runs this service: ask them.')
  return {
    id: settings.id,
    label: settings.label ?? 'In person',
    kind: 'in-person',
    assurance: null,
    unique: false,
    proves:
      settings.proves ??
      'Who you are, as whoever runs this service has checked for themselves. Ask them.',
    validForMs: null,
    signIn: false,
    selfService: false,
    begin: () => Promise.reject(refusal()),
    complete: () => Promise.reject(refusal()),
    check: async () => [{ name: 'by hand', ok: true, detail: 'countersignd owner verify' }],
  }
}
