import { ROLES, type Role } from '@countersign/protocol'
import { Choice } from '../components/choice.tsx'
import { ROLE_NAMES, ROLE_TEXTS } from './roles.ts'

interface RoleFieldProps {
  readonly role: Role
  readonly onChange: (role: Role) => void
}

/** Chooses a role, with what each allows. */
export function RoleField({ role, onChange }: RoleFieldProps) {
  return (
    <fieldset className="flex flex-col">
      <legend className="mb-1 font-medium">Role</legend>
      {ROLES.map((each) => (
        <Choice
          key={each}
          label={ROLE_NAMES[each]}
          isChosen={role === each}
          onChoose={() => onChange(each)}
        >
          {ROLE_TEXTS[each]}
        </Choice>
      ))}
    </fieldset>
  )
}
