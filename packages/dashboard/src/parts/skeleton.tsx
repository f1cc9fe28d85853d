/** Stands where something will be, at its size: give it height and width by `className`. */
export function Skeleton({ className = '' }: { readonly className?: string }) {
  return <div aria-hidden="true" className={`animate-pulse rounded-lg bg-sunken ${className}`} />
}

/** Says once, to whoever cannot see the skeletons, that something is on its way. */
export function Loading({ what }: { readonly what: string }) {
  return (
    <p role="status" className="sr-only">
      Loading {what} …
    </p>
  )
}
