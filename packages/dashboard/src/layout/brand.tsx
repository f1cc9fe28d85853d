import { LogoMark, Wordmark } from '@countersign/ui'

/** The service's mark and the name that the host gives it; its place is kept while the name is on its way. */
export function Brand({ name }: { readonly name: string | undefined }) {
  if (name !== undefined) return <Wordmark name={name} />
  return (
    <span className="inline-flex items-center gap-2.5">
      <LogoMark className="size-7 shrink-0" />
      <span className="h-7 w-28 rounded-md bg-sunken" />
    </span>
  )
}
