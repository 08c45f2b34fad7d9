// Styles of a view that is fetched when it is opened.
export function styled(file) {
  if (document.querySelector(`link[href="${file}"]`)) return;
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = file;
  document.head.append(link);
}
