import { Type } from 'typebox'
import { membershipId } from './organisations.ts'

/** The member who is responsible for an agent of an organisation, or for the agents of a rule. Never public. */
export const responsibleSchema = () =>
  Type.Object(
    { id: membershipId(), displayName: Type.String({ description: 'chosen by the person' }) },
    {
      description:
        'the responsible member of the organisation; null: nobody, or the owner is a person',
    },
  )
