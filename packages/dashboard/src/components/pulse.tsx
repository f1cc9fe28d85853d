/** Shows that the page is waiting for an event. The text beside it says for which. */
export function Pulse() {
  return (
    <span aria-hidden="true" className="relative grid size-4 shrink-0 place-items-center">
      <span className="absolute size-4 animate-ping rounded-full bg-accent opacity-40" />
      <span className="size-2.5 rounded-full bg-accent" />
    </span>
  )
}
