#include "report/html_parts.h"

#include "report/svg.h"

enum { MAX_COLUMNS = 40 }; /* at most, that can be aligned to the left */

/* --dot to --heattextbest are the colours of charts (svg.h). */
static const char *const style[] = {
    ":root{color-scheme:light dark;",
    "--page:#fff;--card:#fbfcfd;--text:#1b2026;--muted:#5a6572;--line:#dbe1e8;--head:#f0f3f6;",
    "--winner:#c8400a;--winner-back:#fff3ec;--tie:#7a3fb5;--accent:#0b63b5;",
    "--dot:rgb(96 114 134/.55);--axis:#9aa5b1;--grid:#e6eaef;--limit:#8a5a00;",
    "--series0:#0072b2;--series1:#d55e00;--series2:#00875f;--series3:#b3589a;",
    "--series4:#9a7500;--series5:#3a8fc7;",
    "--heat0:#0b4f8f;--heat1:#1f6cb0;--heat2:#3478b5;--heat3:#74abd9;",
    "--heat4:#a3c8e6;--heat5:#c6ddf0;--heat6:#dfebf6;--heat7:#eff5fa;",
    "--heattext:#1b2026;--heattextbest:#fff}",
    "@media(prefers-color-scheme:dark){:root{",
    "--page:#101317;--card:#161a20;--text:#e4e8ec;--muted:#9ba6b2;--line:#2c333c;--head:#1d232b;",
    "--winner:#ff8f57;--winner-back:#2a1c14;--tie:#c9a0ff;--accent:#62b0ff;",
    "--dot:rgb(150 168 188/.65);--axis:#56616d;--grid:#232a32;--limit:#e0b050;",
    "--series0:#5ab4f0;--series1:#ff9650;--series2:#3ccf9d;--series3:#e79ac8;",
    "--series4:#f0c54e;--series5:#a6d6f7;",
    "--heat0:#b9dcff;--heat1:#8fc3f5;--heat2:#65a7e3;--heat3:#2f6ca2;",
    "--heat4:#295a88;--heat5:#224a70;--heat6:#1e3b57;--heat7:#192c40;",
    "--heattext:#e4e8ec;--heattextbest:#0e1722}}",
    "*{box-sizing:border-box}",
    "body{margin:0 auto;max-width:86rem;padding:1.5rem clamp(.8rem,3vw,2.5rem) 3rem;",
    "background:var(--page);color:var(--text);font:16px/1.5 system-ui,sans-serif}",
    "h1{font-size:1.9rem;line-height:1.2;margin:.2rem 0}",
    "h2{font-size:1.4rem;line-height:1.3;margin:3rem 0 .6rem;padding-top:1.2rem;",
    "border-top:1px solid var(--line)}",
    "h3{font-size:1.1rem;margin:2rem 0 .4rem}",
    "h1,h2,code{overflow-wrap:anywhere}",
    "p{margin:.4rem 0;max-width:62rem}.muted,figcaption,.facts dt{color:var(--muted)}",
    "code{font:.88em/1.4 ui-monospace,monospace}",
    "sup{line-height:0}",
    ".facts{display:flex;flex-wrap:wrap;gap:.5rem 2.5rem;margin:1rem 0;",
    "padding:.8rem 0;border:solid var(--line);border-width:1px 0}",
    ".facts div{min-width:0}.facts .wide{flex-basis:100%}",
    ".facts dt{font-size:.8rem}.facts dd{margin:0;overflow-wrap:anywhere}",
    ".winner{border-left:4px solid var(--winner);background:var(--winner-back);",
    "padding:.7rem 1rem;margin:.8rem 0;border-radius:0 6px 6px 0}",
    ".legend{display:flex;flex-wrap:wrap;gap:.2rem 1.4rem;font-size:.9rem;color:var(--muted);",
    "margin:1rem 0 .5rem;padding:0;list-style:none}",
    ".legend i{display:inline-block;width:.7em;height:.7em;border-radius:50%;margin-right:.45em}",
    ".legend i.bar{height:.2em;border-radius:0;width:1.2em;vertical-align:.25em}",
    ".charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,25rem),1fr));",
    "gap:1rem}",
    "figure{margin:0;padding:.8rem .8rem .5rem;background:var(--card);",
    "border:1px solid var(--line);border-radius:8px;min-width:0;display:grid;gap:0;",
    "grid-row:span 2;grid-template:subgrid/minmax(0,1fr)}", /* plots of a row begin together */
    "figcaption{font-size:.88rem;line-height:1.4}",
    "figcaption b{display:block;color:var(--text);font-size:1rem}",
    ".scroll{overflow:auto;max-height:36rem;border:1px solid var(--line);border-radius:8px;",
    "width:fit-content;max-width:100%}",
    "table{border-collapse:separate;border-spacing:0;font-size:.88rem;line-height:1.35;",
    "font-variant-numeric:tabular-nums}",
    "th,td{padding:.3rem .7rem;text-align:right;white-space:nowrap;",
    "border-bottom:1px solid var(--line)}",
    "tr:last-child td{border-bottom:0}",
    "th{background:var(--head);font-weight:600;position:sticky;top:0;vertical-align:bottom}",
    ".l{text-align:left}td.wrap{white-space:normal;min-width:min(28rem,70vw)}",
    "tr.winner-row td{background:var(--winner-back);font-weight:600}",
    "tr.tie-row td:first-child,.tie{color:var(--tie)}",
    "tr.winner-row td:first-child{color:var(--winner)}",
    "td b{color:var(--winner)}",
    "th.sorts{cursor:pointer;user-select:none}th.sorts:hover,th.sorts:focus{color:var(--accent)}",
    "th[aria-sort=ascending]::after{content:' \\2191'}",
    "th[aria-sort=descending]::after{content:' \\2193'}",
    ".share{display:inline-block;width:5rem;height:.55rem;margin-left:.5rem;border-radius:3px;",
    "background:linear-gradient(var(--accent),var(--accent)) 0/var(--share) 100% no-repeat,",
    "var(--line)}",
    "a{color:var(--accent)}",
    "footer{margin-top:3rem;padding-top:1rem;border-top:1px solid var(--line);font-size:.88rem;",
    "color:var(--muted)}",
    "@media print{.scroll{overflow:visible;max-height:none;border:0}figure{break-inside:avoid}}",
};

/* A click on a heading sorts by its column, and a second click reverses the order. Empty cells stay
 * last. */
static const char *const script[] = {
    "for(const table of document.querySelectorAll('table.sortable')){",
    "const heads=[...table.tHead.rows[0].cells];",
    "heads.forEach((head,index)=>{",
    "const key=row=>{const text=row.cells[index].textContent.trim(),number=parseFloat(text);",
    "return text===''?null:isNaN(number)?text:number};",
    "const compare=(a,b)=>typeof a===typeof b?(a<b?-1:a>b?1:0):typeof a==='number'?-1:1;",
    "const sort=()=>{",
    "const down=head.getAttribute('aria-sort')==='ascending';",
    "heads.forEach(other=>other.removeAttribute('aria-sort'));",
    "head.setAttribute('aria-sort',down?'descending':'ascending');",
    "const rows=[...table.tBodies[0].rows].map(row=>[key(row),row]);",
    "rows.sort(([a],[b])=>a===null||b===null?(a===null)-(b===null):",
    "down?compare(b,a):compare(a,b));",
    "table.tBodies[0].append(...rows.map(([,row])=>row))};",
    "head.classList.add('sorts');head.tabIndex=0;head.title='sort by this column';",
    "head.addEventListener('click',sort);",
    "head.addEventListener('keydown',event=>{",
    "if(event.key==='Enter'||event.key===' '){event.preventDefault();sort()}})})}",
};

void html_style(FILE *stream)
{
    fputs("<style>\n", stream);
    for (size_t i = 0; i < sizeof style / sizeof *style; i++)
        fprintf(stream, "%s\n", style[i]);
    /* a heading's class aligns its whole column */
    for (int i = 1; i <= MAX_COLUMNS; i++)
        fprintf(stream, "table:has(th.l:nth-child(%d)) td:nth-child(%d)%s", i, i,
                i < MAX_COLUMNS ? ",\n" : "{text-align:left}\n");
    svg_write_style(stream);
    fputs("</style>\n", stream);
}

void html_script(FILE *stream)
{
    fputs("<script>\n", stream);
    for (size_t i = 0; i < sizeof script / sizeof *script; i++)
        fprintf(stream, "%s\n", script[i]);
    fputs("</script>\n", stream);
}
