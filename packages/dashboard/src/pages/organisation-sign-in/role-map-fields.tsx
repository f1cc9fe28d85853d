import { SSO_ROLES, type SsoRole } from '@countersign/protocol'
import { useRef } from 'react'
import { Button } from '../../components/button.tsx'
import { SelectField, TextField } from '../../components/field.tsx'
import { ROLE_NAMES } from '../../organisations/roles.ts'

/** A row of the form. */
export interface GroupRole {
  /** Distinguishes the rows. */
  readonly key: number
  /** The id of a group at the identity provider. */
  readonly group: string
  readonly role: SsoRole
}

/** @returns the mistake as a sentence; null if there is none */
export function roleMapError(groups: readonly GroupRole[]): string | null {
  const ids = groups.map(({ group }) => group)
  if (ids.some((id) => id.trim() === '')) return 'Enter the id of each group, or remove the row.'
  return new Set(ids).size < ids.length ? 'A group is listed twice. Remove one of the rows.' : null
}

export function roleMapOf(groups: readonly GroupRole[]): Record<string, SsoRole> {
  return Object.fromEntries(groups.map(({ group, role }) => [group, role]))
}

interface RoleMapFieldsProps {
  readonly groups: readonly GroupRole[]
  readonly error: string | null
  readonly onChange: (groups: readonly GroupRole[]) => void
}

/** Which group gives which role. Only a person makes an admin. */
export function RoleMapFields({ groups, error, onChange }: RoleMapFieldsProps) {
  const fieldset = useRef<HTMLFieldSetElement>(null)
  const put = (changed: GroupRole) =>
    onChange(groups.map((each) => (each.key === changed.key ? changed : each)))
  const add = () => {
    const key = Math.max(-1, ...groups.map((each) => each.key)) + 1
    onChange([...groups, { key, group: '', role: 'viewer' }])
  }
  const remove = (row: GroupRole) => {
    onChange(groups.filter(({ key }) => key !== row.key))
    // The button that was pressed is gone.
    fieldset.current?.focus()
  }

  return (
    <fieldset ref={fieldset} tabIndex={-1} className="flex min-w-0 flex-col gap-3 outline-hidden">
      <legend className="mb-1 font-medium">Roles by group</legend>
      <p className="text-pretty text-soft text-sm">
        The exact id of a group gives its members a role; the highest counts. Who is in none of
        these groups cannot sign in.
      </p>
      {groups.map((row, index) => (
        <div
          key={row.key}
          className="grid items-end gap-3 rounded-lg border border-line p-3 @xl:grid-cols-[minmax(0,1fr)_9rem_auto]"
        >
          <TextField
            label={`Group ${index + 1}`}
            value={row.group}
            onChange={({ target }) => put({ ...row, group: target.value })}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            maxLength={256}
          />
          <SelectField
            label={`Role ${index + 1}`}
            value={row.role}
            onChange={({ target }) =>
              put({ ...row, role: SSO_ROLES.find((each) => each === target.value) ?? 'viewer' })
            }
          >
            {SSO_ROLES.map((each) => (
              <option key={each} value={each}>
                {ROLE_NAMES[each]}
              </option>
            ))}
          </SelectField>
          <Button aria-label={`Remove group ${index + 1}`} onClick={() => remove(row)}>
            Remove
          </Button>
        </div>
      ))}
      <p aria-live="polite" className="text-bad text-sm empty:hidden">
        {error}
      </p>
      <Button size="small" className="self-start" onClick={add}>
        Add a group
      </Button>
    </fieldset>
  )
}
