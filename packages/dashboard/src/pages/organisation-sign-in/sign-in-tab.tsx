import { useQuery } from '@tanstack/react-query'
import { sessionQuery } from '../../api/queries.ts'
import { useMay } from '../../api/use-may.ts'
import { Sheet } from '../../components/sheet.tsx'
import { ConnectionSection } from './connection-section.tsx'
import { LinkSection } from './link-section.tsx'
import { ScimSection } from './scim-section.tsx'

/** How members of the organisation sign in: its identity provider, SCIM, and the link of one's own account. */
export function SignInTab() {
  const may = useMay()
  const person = useQuery(sessionQuery).data?.person
  return (
    <Sheet>
      {may('admin') && <ConnectionSection />}
      {may('admin') && <ScimSection />}
      {/* Who was signed in by the identity provider has linked their identity already. */}
      {person?.limited === false ? (
        <LinkSection />
      ) : (
        <p className="px-4 py-7 text-pretty @lg:px-8">
          The identity provider of the organisation signed you in. There is nothing to set up here.
        </p>
      )}
    </Sheet>
  )
}
