# tally_html_bundle(<target>): adds report_bundle.cpp, which holds the script and the style of the HTML report, to <target>.
# They come from, in this order: the folder TALLY_HTML_BUNDLE, the folder page/dist of a release, or npm, which fetches what
# page/package-lock.json pins. Where none of these works, the build goes on and the bundle is empty: html/bundle.h.
include_guard(GLOBAL)
set(TALLY_HTML_BUNDLE "" CACHE PATH
  "A folder with report.js, report.css and licences.txt of the HTML report (default: built with npm)")
find_program(TALLY_NPM npm)
mark_as_advanced(TALLY_NPM)

function(tally_html_bundle target)
  set(page ${CMAKE_CURRENT_SOURCE_DIR}/html/page)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/report_bundle.cpp)
  set(ready "")
  if(TALLY_HTML_BUNDLE)
    set(ready ${TALLY_HTML_BUNDLE})
  elseif(EXISTS ${page}/dist/report.js)
    set(ready ${page}/dist)
  endif()
  if(ready)
    set(sources ${ready}/report.js ${ready}/report.css ${ready}/licences.txt)
  else()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${page}/src/*)
    list(APPEND sources ${page}/package.json ${page}/package-lock.json)
  endif()
  set(script ${PROJECT_SOURCE_DIR}/cmake/HtmlBundle.cmake)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DPAGE=${page} -DREADY=${ready} -DNPM=${TALLY_NPM} -DOUTPUT=${output}
            -DWORK=${CMAKE_BINARY_DIR}/html-page -DCACHE=${PROJECT_SOURCE_DIR}/.deps/npm -P ${script}
    DEPENDS ${sources} ${script}
    COMMENT "HTML report"
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
  set(made ${CMAKE_BINARY_DIR}/html-page)
  if(ready)
    set(made ${ready})
  endif()
  install(FILES ${made}/licences.txt DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright.uplot OPTIONAL)
  set_source_files_properties(${output} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
