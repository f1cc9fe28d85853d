import type { Role } from '@countersign/protocol'
import { ROLE_NAMES } from './roles.ts'

export function RoleMark({ role }: { readonly role: Role }) {
  return (
    <span className="whitespace-nowrap rounded-full bg-sunken px-2.5 py-0.5 font-medium text-sm">
      {ROLE_NAMES[role]}
    </span>
  )
}
