import { type Static, Type } from 'typebox'
import { type IdentityProvider, ProviderRefusal } from './provider.ts'
import { labelField } from './settings-fields.ts'

/** The provider id under which `countersignd owner verify` records, whether or not the operator's file lists it. */
export const IN_PERSON = 'in-person'

/** `{"type": "in-person"}` in the operator's file, to change the label or the description. */
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

/** Verification by the operator in person. Owners cannot begin it; the operator records it with countersignd. */
export function inPersonProvider(
  settings: InPersonSettings = { id: IN_PERSON, type: IN_PERSON },
): IdentityProvider {
  const refusal = () =>
    new ProviderRefusal('The operator of this service does this verification. Contact them.')
  return {
    id: settings.id,
    label: settings.label ?? 'In person',
    kind: 'in-person',
    for: 'anyone',
    assurance: null,
    unique: false,
    verifiesName: false,
    proves:
      settings.proves ?? 'Your identity, which the operator of this service checked in person.',
    validForMs: null,
    signIn: false,
    selfService: false,
    begin: () => Promise.reject(refusal()),
    complete: () => Promise.reject(refusal()),
    check: async () => [{ name: 'by hand', ok: true, detail: 'countersignd owner verify' }],
  }
}
